package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// controllerTool is what the scenario sets measures.
var controllerTool = tool{name: "muster-controller", program: "muster-controller", role: ours}

// controller is a running muster-controller.
type controller struct {
	process *process.Process
	server  *ground
	most    atomic.Uint64 // resident bytes
	end     func()
}

// startController starts the controller, whose requests are counted. It elects no leader, which
// takes a request every two seconds.
func (s *site) startController(ctx context.Context, g *ground) (*controller, error) {
	work := filepath.Join(s.temp, "work")
	log, err := os.Create(filepath.Join(s.temp, "controller.log"))
	if err := errors.Join(err, os.MkdirAll(work, 0o700)); err != nil {
		return nil, err
	}
	defer log.Close()
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, controllerTool.program, "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--work-dir="+work)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+g.counter.kubeconfig, "HOME="+s.temp)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	c := &controller{server: g, end: func() {
		stop()
		_ = cmd.Wait() // it was ended
	}}
	if c.process, err = process.NewProcessWithContext(ctx, int32(cmd.Process.Pid)); err != nil {
		c.end()
		return nil, err
	}
	go c.watch(ctx)
	return c, nil
}

// watch notes the most memory that the process has. It ends with the context.
func (c *controller) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if m, err := c.process.MemoryInfoWithContext(ctx); err == nil && m.RSS > c.most.Load() {
			c.most.Store(m.RSS)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// measure does a step, and has the result say what the controller used for it.
func (c *controller) measure(ctx context.Context, result *Result, step func() error) error {
	server, first := c.server.cpu(ctx)
	before, second := c.process.TimesWithContext(ctx)
	if err := errors.Join(first, second); err != nil {
		return fmt.Errorf("the controller has ended: %w", err)
	}
	c.most.Store(0)
	begun := time.Now()
	if err := step(); err != nil {
		return err
	}
	wall := time.Since(begun)
	after, err := c.process.TimesWithContext(ctx)
	if err != nil {
		return fmt.Errorf("the controller has ended: %w", err)
	}
	now, err := c.server.cpu(ctx)
	result.Samples = append(result.Samples, Sample{
		Wall: wall.Seconds(), CPU: after.User + after.System - before.User - before.System,
		Peak: float64(c.most.Load()) / 1e6, Server: now - server,
	})
	return err
}
