package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/muster-deploy/muster/local/lifeline"
)

// process identifies a running program: the same id at another time is another program.
type process struct {
	PID     int   `json:"pid"`
	Started int64 `json:"started"` // milliseconds since 1970
}

const (
	// pollEvery is the pause between two questions to something that cannot be watched.
	pollEvery = 20 * time.Millisecond
	// startDrift is how far the start of a process may seem to move as the clock of the machine is
	// set, in milliseconds.
	startDrift = 2000
	// roomyGC is by how many percent the heap of a roomy component grows between collections.
	roomyGC = "400"
	// killAfter is how long a component may take to end by itself.
	killAfter = 5 * time.Second
)

// alive reports whether exactly this process runs. A process that ended but was not reaped by its
// parent does not.
func (p process) alive(ctx context.Context) bool {
	if p.PID <= 0 {
		return false
	}
	found, err := ps.NewProcessWithContext(ctx, int32(p.PID))
	if err != nil {
		return false
	}
	started, err := found.CreateTimeWithContext(ctx)
	if err != nil || max(started-p.Started, p.Started-started) > startDrift {
		return false
	}
	status, err := found.StatusWithContext(ctx)
	return err == nil && !slices.Contains(status, ps.Zombie)
}

// signal sends a signal to exactly this process; none is sent when it is gone.
func (p process) signal(ctx context.Context, sig os.Signal) error {
	handle, err := os.FindProcess(
		p.PID,
	) // Taken first: where the system can, it pins the process behind the number.
	if err != nil {
		return nil
	}
	defer handle.Release()
	if !p.alive(ctx) {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// stop ends a process: it is asked first, and killed when it does not end in time.
func (p process) stop(ctx context.Context) error {
	if err := p.signal(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, killAfter)
	defer cancel()
	if p.gone(patience) {
		return nil
	}
	if err := p.signal(context.WithoutCancel(ctx), syscall.SIGKILL); err != nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), killAfter)
	defer cancel()
	if !p.gone(last) {
		return fmt.Errorf("process %d does not end", p.PID)
	}
	return nil
}

// gone waits until the process has ended, or ctx is done.
func (p process) gone(ctx context.Context) bool {
	for p.alive(context.WithoutCancel(ctx)) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pollEvery):
		}
	}
	return true
}

// child is a process that this one started.
type child struct {
	process
	ended context.Context // done when it has ended
}

// spawn starts a component in a session of its own, so that it outlives the terminal, with its
// output in its log file. With a lifeline it ends when this process does. A roomy one collects
// garbage less often.
func spawn(
	ctx context.Context, p paths, s *state, c component, tie *os.File, roomy bool,
) (*child, error) {
	if err := os.Rename(p.log(c.name), p.previousLog(c.name)); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("keep previous log: %w", err)
	}
	log, err := os.OpenFile(p.log(c.name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close() // The child has its own.
	cmd := exec.Command(filepath.Join(s.Bin, c.binary), c.args(p, s)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = string(p)
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if tie != nil {
		cmd.ExtraFiles = []*os.File{tie}
		cmd.Env = append(cmd.Env, lifeline.Env+"=1")
	}
	if roomy {
		cmd.Env = append(cmd.Env, "GOGC="+roomyGC)
		if c.name != apiServer {
			cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended, end := context.WithCancelCause(context.Background())
	out := &child{process: process{PID: cmd.Process.Pid}, ended: ended}
	out.Started = startOf(ctx, out.PID)
	// Ends when the child ends; whoever waits for the child waits for ended.
	go func() {
		_ = cmd.Wait() // How it ended, its log says better.
		end(errEnded)
	}()
	return out, nil
}

// startOf reads when a process started. It is called before anybody reaps the process, so there is
// one to ask.
func startOf(ctx context.Context, pid int) int64 {
	found, err := ps.NewProcessWithContext(ctx, int32(pid))
	if err != nil {
		return time.Now().UnixMilli()
	}
	started, err := found.CreateTimeWithContext(ctx)
	if err != nil {
		return time.Now().UnixMilli()
	}
	return started
}
