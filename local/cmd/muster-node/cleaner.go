//go:build linux

package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/muster-deploy/muster/local/lifeline"
)

// startCleaner starts a process that removes the cgroups and the link when this process has ended,
// or when the function that it returns is called, which returns when all is removed. Until then
// nobody else can claim the addresses.
func startCleaner(o options, claimed *net.UnixListener, g groups) (func() error, error) {
	claim, err := claimed.File()
	if err != nil {
		return nil, err
	}
	defer claim.Close()
	tie, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tie.Close()
	args := append(o.args(), "--clean")
	for _, folder := range g.own {
		args = append(args, "--group="+folder)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Dir = "/" // not the folder of the plane, whose processes may be killed all at once
	cmd.ExtraFiles = []*os.File{tie, claim}
	cmd.Env = append(os.Environ(), lifeline.Env+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	return func() error { return errors.Join(hold.Close(), cmd.Wait()) }, nil
}

// runCleaner waits for the end of the process that holds the lifeline, and removes what the node
// had on the host.
func runCleaner(o options) error {
	<-lifeline.Ended()
	return errors.Join(groups{own: o.groups}.remove(), disconnect(o))
}
