package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// hangTimeout is how long a script waits for an event: it only ends what would never end. Waiting
// that succeeds is never as long, however busy the machine is.
const hangTimeout = 5 * time.Minute

// interruptAfter runs a command, interrupts it (Ctrl-C) as soon as it has printed a number of lines
// that match, and checks that it ends with exit code 130.
func interruptAfter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "interruptafter COUNT REGEXP COMMAND [ARGUMENT]...")
	if state := signalled(ts, syscall.SIGINT, args, func() {}); state.ExitCode() != exitInterrupted {
		ts.Fatalf("the interrupted command ended otherwise: %v", state)
	}
}

// hangUpAfter does the same as when the terminal of the command goes away.
func hangUpAfter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "hangupafter COUNT REGEXP COMMAND [ARGUMENT]...")
	// Were the signal ignored, as by nohup, the command would inherit that.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if state := signalled(ts, syscall.SIGHUP, args, func() {}); state.ExitCode() != exitInterrupted {
		ts.Fatalf("the command that was hung up ended otherwise: %v", state)
	}
}

// headline runs a command until a line of its output matches a regular expression, and interrupts
// it then. Meanwhile it reads a path of the API server, in which ${NS} is the namespace of the
// script, until what stands there matches another one. How long after that the line came is written
// to the log of the test.
func headline(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 4, neg, "headline PATH SHOWN REGEXP COMMAND [ARGUMENT]...")
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	path, pattern := strings.ReplaceAll(args[0], "${NS}", ts.Getenv("NS")), regexp.MustCompile(args[1])
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
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
	state := signalled(
		ts,
		syscall.SIGINT,
		append([]string{"1"}, args[2:]...),
		func() { printed = time.Now() },
	)
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

// signalled runs a command, sends it a signal after some lines and waits for its end. Met is called
// when the last of the lines was read. The output can be read as after exec.
func signalled(
	ts *testscript.TestScript,
	sig syscall.Signal,
	args []string,
	met func(),
) *os.ProcessState {
	count, pattern := number(ts, args[0]), regexp.MustCompile(args[1])
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	cmd := command(ctx, ts, args[2:])
	cmd.Stderr = ts.Stderr()
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())

	out := bufio.NewReader(stdout)
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
	_ = cmd.Process.Signal(sig) // one that has ended is reported below
	_, copied := io.Copy(ts.Stdout(), out)
	state := wait(ts, cmd)
	if seen < count {
		ts.Fatalf("the command ended after %d of %d lines that match %q: %v", seen, count, args[1], state)
	}
	ts.Check(copied)
	return state
}

// command returns a command that runs in the folder of a script, with its cluster.
func command(ctx context.Context, ts *testscript.TestScript, args []string) *exec.Cmd {
	name := args[0]
	if link := filepath.Join(ts.Getenv("HOME"), name); fileExists(link) {
		name = link // kapp, kpt
	}
	cmd := exec.CommandContext(ctx, name, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "HOME="+ts.Getenv("HOME"),
		defectVariable(ts))
	return cmd
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// wait waits for the end of a command, however it ends.
func wait(ts *testscript.TestScript, cmd *exec.Cmd) *os.ProcessState {
	err := cmd.Wait()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		ts.Check(err)
	}
	return cmd.ProcessState
}
