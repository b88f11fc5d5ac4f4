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
	"strings"
	"syscall"
	"time"
)

// Sample is what one run of a command took.
type Sample struct {
	Wall float64 `json:"wall"` // seconds
	CPU  float64 `json:"cpu"`  // seconds, of the command alone, user and system
	Peak float64 `json:"peak"` // most memory at once, in MB (10^6 bytes)
}

// ran is a command that is over.
type ran struct {
	Sample
	requests requests
}

// command runs a program, of which every line on its standard output is told of as it comes. It runs below "bench measure":
// the kernel charges a child with the memory that its parent had when it was started, so the parent has to be small.
func (s *site) command(ctx context.Context, program string, args []string, line func(string, time.Time)) (*ran, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if program == "" {
		program = self
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	cmd := exec.CommandContext(ctx, self, append([]string{"measure", program}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+s.temp, "NO_COLOR=1")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	stderr := &requestWriter{}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		theirs.Close()
		return nil, err
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	tail := readLines(stdout, line)
	done := &ran{}
	reported := json.NewDecoder(report).Decode(&done.Sample)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, tail, stderr.tail())
	}
	done.requests = stderr.seen
	return done, reported
}

// readLines tells of lines until there are no more, and gives the last.
func readLines(from io.Reader, line func(string, time.Time)) (last string) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		last = lines.Text() + "\n"
		if line != nil {
			line(lines.Text(), time.Now())
		}
	}
	return last
}

// measure runs a command with the streams of this process, writes a Sample to the third extra file, and gives the exit
// code.
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

// peak is the most memory that a process had, in bytes.
func peak(state *os.ProcessState) float64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(usage.Maxrss) * maxrssUnit
}
