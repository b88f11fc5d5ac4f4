package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// sweepEnv is the environment variable that makes this program the sweeper of a folder.
const sweepEnv = "MUSTER_E2E_SWEEP"

// startSweeper starts a process that sweeps the folder of the run once the run has ended, in
// whatever way: also when it was killed. The function that it returns waits for that at the end of
// the run.
func startSweeper(temp string) (wait func() error, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), sweepEnv+"="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	return func() error {
		lifeline.Close()
		return cmd.Wait()
	}, nil
}

// sweepAtEnd is the sweeper: its standard input ends when the run does.
func sweepAtEnd(temp string) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	sweep(temp)
}

// sweep ends all processes that work in a folder, as the plane and the commands of all scripts do,
// and removes the folder.
func sweep(temp string) {
	for endAll(temp) > 0 {
	}
	_ = os.RemoveAll(temp)
}

// endAll kills all processes that work in a folder, and returns their number.
func endAll(temp string) int {
	all, _ := process.Processes() // those that cannot be seen are not ours
	found := 0
	for _, p := range all {
		dir, err := p.Cwd()
		if err == nil && strings.HasPrefix(dir, temp+string(filepath.Separator)) && p.Kill() == nil {
			found++
		}
	}
	return found
}
