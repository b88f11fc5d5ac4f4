package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Sample is what one run of a command took.
type Sample struct {
	Wall   float64 `json:"wall"`   // seconds
	CPU    float64 `json:"cpu"`    // seconds, of the command alone, user and system
	Peak   float64 `json:"peak"`   // most memory at once, in MB (10^6 bytes)
	Server float64 `json:"server"` // CPU seconds of the API server, until it is idle again
}

// invocation is a command of a tool that is run.
type invocation struct {
	tool  tool
	args  []string
	mode  mode
	label string                  // of the profiles
	line  func(string, time.Time) // gets every line of the standard output; may be nil

	terminal bool // its streams are a terminal, instead of pipes
}

// ran is the result of a command.
type ran struct {
	Sample
	traffic *Traffic // when it was counted
}

// command runs a command on a ground. It runs below "bench measure": the kernel charges a child
// with the memory that its parent had when it was started, so the parent has to be small.
func (s *site) command(ctx context.Context, g *ground, in invocation) (*ran, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program := in.tool.program
	if program == "" {
		program = self
	}
	kubeconfig := g.plane.Kubeconfig()
	env := append(os.Environ(), "HOME="+s.temp, "NO_COLOR=1")
	switch in.mode {
	case counting:
		kubeconfig = g.counter.kubeconfig
		g.counter.take()
	case profiling:
		program = s.profiled
		env = append(env, "MUSTER_PROFILE="+filepath.Join(s.options.profile, in.label))
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"measure", program}, in.args...)...)
	cmd.Env = append(env, "KUBECONFIG="+kubeconfig)
	before, err := g.cpu(ctx)
	if err != nil {
		return nil, err
	}
	done := &ran{}
	if done.Sample, err = measured(cmd, in); err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(in.args, " "), err)
	}
	if in.mode == counting {
		done.traffic = g.counter.take()
	}
	after, err := g.rest(ctx)
	done.Server = after - before
	return done, err
}

// measured runs the "bench measure" of an invocation, and calls line for each line of its standard
// output. The error quotes the end of the output.
func measured(cmd *exec.Cmd, in invocation) (sample Sample, err error) {
	report, theirs, err := os.Pipe()
	if err != nil {
		return sample, err
	}
	defer report.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said := &ending{} // of both streams
	cmd.Stderr = said
	start := startOnPipes
	if in.terminal {
		start = startOnTerminal
	}
	stdout, err := start(cmd)
	theirs.Close()
	if err != nil {
		return sample, err
	}
	defer stdout.Close()
	readLines(io.TeeReader(stdout, said), in.line)
	reported := json.NewDecoder(report).Decode(&sample)
	if err := cmd.Wait(); err != nil {
		return sample, fmt.Errorf("%w\n%s", err, said.all())
	}
	return sample, reported
}

// startOnPipes starts a command in a process group of its own. The reader returns its standard
// output.
func startOnPipes(cmd *exec.Cmd) (io.ReadCloser, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return stdout, cmd.Start()
}

// ending is a writer that keeps the end of its input. It may be used concurrently.
type ending struct {
	mu   sync.Mutex
	text []byte
}

// kept is the size of that end in bytes.
const kept = 2000

func (e *ending) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, p...)
	e.text = e.text[max(0, len(e.text)-kept):]
	return len(p), nil
}

// all returns the kept text.
func (e *ending) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.text)
}

// readLines calls line for every line until the reader ends.
func readLines(from io.Reader, line func(string, time.Time)) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20) // a line may hold a whole object
	for lines.Scan() {
		if line != nil {
			line(lines.Text(), time.Now())
		}
	}
	_, _ = io.Copy(io.Discard, from) // a longer line must not block the command
}

// measure runs a command with the streams of this process, writes a Sample to the third extra file,
// and returns the exit code.
func measure(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	state := cmd.ProcessState
	err = json.NewEncoder(os.NewFile(3, "report")).Encode(Sample{
		Wall: wall.Seconds(),
		CPU:  (state.UserTime() + state.SystemTime()).Seconds(),
		Peak: peak(state) / 1e6,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: report:", err)
		return 1
	}
	return state.ExitCode()
}

// peak returns the maximum resident memory of a process, in bytes.
func peak(state *os.ProcessState) float64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(usage.Maxrss) * maxrssUnit
}
