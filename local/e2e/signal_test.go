package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// signalTimeout is how long a command may run that is waiting for its signal.
const signalTimeout = time.Minute

// killAfter runs a command and kills it as soon as it has printed a number of lines that match. The command is held up
// until it is killed, so that it cannot have finished by then.
func killAfter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "killafter COUNT REGEXP COMMAND [ARGUMENT]...")
	state := signalled(ts, syscall.SIGKILL, args, func() {})
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		ts.Fatalf("the command was not killed: %v", state)
	}
}

// interruptAfter runs a command, interrupts it (Ctrl-C) as soon as it has printed a number of lines that match, and checks
// that it ends with exit code 130.
func interruptAfter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "interruptafter COUNT REGEXP COMMAND [ARGUMENT]...")
	if state := signalled(ts, syscall.SIGINT, args, func() {}); state.ExitCode() != exitInterrupted {
		ts.Fatalf("the interrupted command ended otherwise: %v", state)
	}
}

// hangUpAfter does the same as when the terminal of the command goes away.
func hangUpAfter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "hangupafter COUNT REGEXP COMMAND [ARGUMENT]...")
	if state := signalled(ts, syscall.SIGHUP, args, func() {}); state.ExitCode() != exitInterrupted {
		ts.Fatalf("the command that was hung up ended otherwise: %v", state)
	}
}

// headline runs a command until a line of its output matches a regular expression, and interrupts it then. Meanwhile it reads
// a path of the API server, in which ${NS} is the namespace of the script, until what stands there matches another one. How
// long after that the line came is written to the log of the test.
func headline(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 4, neg, "headline PATH SHOWN REGEXP COMMAND [ARGUMENT]...")
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	path, pattern := strings.ReplaceAll(args[0], "${NS}", ts.Getenv("NS")), regexp.MustCompile(args[1])
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	shown := make(chan time.Time, 1)
	go func() { // ends with the context
		for ctx.Err() == nil {
			body, err := client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
			if err == nil && pattern.Match(body) {
				shown <- time.Now()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	var printed time.Time
	state := signalled(ts, syscall.SIGINT, append([]string{"1"}, args[2:]...), func() { printed = time.Now() })
	if state.ExitCode() != exitInterrupted {
		ts.Fatalf("the interrupted command ended otherwise: %v", state)
	}
	select {
	case at := <-shown:
		ts.Logf("printed %s after the API server showed it", printed.Sub(at).Round(time.Millisecond))
	case <-ctx.Done():
		ts.Fatalf("the API server never shows %q below %s", args[1], path)
	}
}

// signalled runs a command, sends it a signal after some lines and waits for its end. Met is called when the last of the
// lines was read. The output can be read as after exec.
func signalled(ts *testscript.TestScript, sig syscall.Signal, args []string, met func()) *os.ProcessState {
	count, pattern := number(ts, args[0]), regexp.MustCompile(args[1])
	ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
	defer cancel()
	ours, theirs, err := narrow()
	ts.Check(err)
	defer ours.Close()
	cmd := exec.CommandContext(ctx, args[2], args[3:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), theirs, ts.Stderr()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "HOME="+ts.Getenv("HOME"))
	err = cmd.Start()
	theirs.Close()
	ts.Check(err)

	out := bufio.NewReaderSize(ours, 16) // the smallest there is: what was not read yet holds the command up
	seen := 0
	for seen < count {
		line, err := out.ReadString('\n')
		io.WriteString(ts.Stdout(), line)
		if err != nil {
			break
		}
		if pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			seen++
		}
	}
	met()
	_ = cmd.Process.Signal(sig) // one that is gone already is reported below
	_, copied := io.Copy(ts.Stdout(), out)
	err = cmd.Wait()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		ts.Check(err)
	}
	if seen < count {
		ts.Fatalf("the command ended after %d of %d lines that match %q: %v", seen, count, args[1], cmd.ProcessState)
	}
	ts.Check(copied)
	return cmd.ProcessState
}

// narrow gives the two ends of a connection that takes a few lines and no more: a command that writes to it cannot run
// far ahead of whoever reads.
func narrow() (reader, writer *os.File, err error) {
	syscall.ForkLock.RLock() // no other command may inherit the ends
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.SetsockoptInt(fds[1], syscall.SOL_SOCKET, syscall.SO_SNDBUF, 1); err != nil { // that is: as little as possible
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "reader"), os.NewFile(uintptr(fds[1]), "writer"), nil
}
