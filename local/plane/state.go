package plane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/host"
)

// state is what a plane remembers between two commands.
type state struct {
	Nodes     int                `json:"nodes"`
	Bin       string             `json:"bin"`
	Boot      uint64             `json:"boot,omitempty"` // start of the machine, in seconds since 1970
	Ports     ports              `json:"ports,omitzero"`
	Real      []realNode         `json:"real,omitempty"`      // nodes that run containers
	Processes map[string]process `json:"processes,omitempty"` // by component
}

// bootDrift is how far the start of the machine may seem to move, as its clock is set, in seconds.
const bootDrift = 60

// rebooted reports whether the machine has been restarted since the state was written.
func (s *state) rebooted(boot uint64) bool {
	if s.Boot == 0 || boot == 0 {
		return false
	}
	return boot > s.Boot+bootDrift
}

// bootTime returns the time when the machine started, or 0 if it is unknown.
func bootTime(ctx context.Context) uint64 {
	boot, err := host.BootTimeWithContext(ctx)
	if err != nil {
		return 0
	}
	return boot
}

func readState(p paths) (*state, error) {
	data, err := os.ReadFile(p.state())
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read state %s: %w", p.state(), err)
	}
	return s, nil
}

func (s *state) save(p paths) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := write(p.state(), append(data, '\n')); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

// lock keeps other processes from changing the plane until unlock is called. It waits for its turn.
func lock(ctx context.Context, p paths) (unlock func(), err error) {
	file, err := os.OpenFile(p.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// Closing releases the lock.
			return func() { file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for another command on this plane: %w", context.Cause(ctx))
		case <-time.After(pollEvery):
		}
	}
}
