//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/muster-deploy/muster/local/lifeline"
)

// namespaces are those that the node does not share with the host.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
	syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP

// runOnHost runs the node until it ends, this process is to stop, or the holder of its lifeline is
// gone. Only an end by itself is an error.
func runOnHost(o options) (err error) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	abandoned := lifeline.Ended()
	claimed, err := claim(o)
	if err != nil {
		return fmt.Errorf("use the addresses of number %d: %w", o.slot, err)
	}
	defer claimed.Close()
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	g, err := makeGroups(cgroupRoot, string(self), fmt.Sprintf("muster-node-%d", o.slot))
	clean, failed := startCleaner(o, claimed, g)
	if failed != nil {
		return errors.Join(err, fmt.Errorf("start the process that cleans up: %w", failed), g.remove())
	}
	defer func() { err = errors.Join(err, clean()) }()
	if err != nil {
		return fmt.Errorf("make cgroups: %w", err)
	}
	node, err := startInside(o, g)
	if err != nil {
		return fmt.Errorf("start the first process of the node: %w", err)
	}
	defer node.kill()
	if err := reach(o, node.pid); err != nil {
		return err
	}
	select {
	case <-stop:
	case <-abandoned:
	case <-node.ended:
		return errors.New("the node ended")
	}
	return nil
}

// reach connects the node with the host, and forwards connections between its kubelet and the API
// server, which listens on 127.0.0.1 only.
func reach(o options, pid int) error {
	if err := connect(o, pid); err != nil {
		return fmt.Errorf("connect the node with the host: %w", err)
	}
	api, kubelet := onLoopback(o.api), netip.AddrPortFrom(o.nodeIP(), kubeletPort)
	if err := forward(netip.AddrPortFrom(o.hostIP(), api.Port()), api); err != nil {
		return err
	}
	return forward(onLoopback(o.listen), kubelet)
}

// firstProcess is the first process of the namespaces.
type firstProcess struct {
	pid   int
	kill  func() // returns when all processes of the namespaces have ended
	ended <-chan struct{}
}

// startInside starts the first process of the namespaces, in the cgroups. It ends with this one.
func startInside(o options, g groups) (*firstProcess, error) {
	tie, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tie.Close()
	cmd := exec.Command("/proc/self/exe", append(o.args(), "--inside")...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{tie}
	cmd.Env = append(os.Environ(), lifeline.Env+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	// The root of a cgroup namespace is the cgroup of the process that makes it.
	if err := g.enter(); err != nil {
		return nil, errors.Join(err, g.leave())
	}
	err = cmd.Start()
	if err := errors.Join(err, g.leave()); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	// Ends with the first process of the namespaces, which the kernel reaps after all others.
	go func() {
		_ = cmd.Wait() // its log says why
		close(ended)
	}()
	kill := func() {
		hold.Close()
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}
	return &firstProcess{pid: cmd.Process.Pid, kill: kill, ended: ended}, nil
}
