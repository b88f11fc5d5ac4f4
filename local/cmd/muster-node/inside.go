//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-deploy/muster/local/lifeline"
)

// runtimeTimeout bounds the start of containerd.
const runtimeTimeout = 30 * time.Second

// runInside prepares the namespaces, starts the node's programs, and returns when one of these
// ends. The kernel then ends all other processes of the namespaces, of which this is the first.
func runInside(o options) error {
	lifeline.Follow()
	if err := unix.Sethostname([]byte(o.name)); err != nil {
		return fmt.Errorf("set the name of the node: %w", err)
	}
	if err := mountAll(o); err != nil {
		return err
	}
	if err := connectInside(o); err != nil {
		return fmt.Errorf("set up the network: %w", err)
	}
	v := o.values()
	if err := writeConfig(v); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := serveImages(registry, filepath.Join(programs, "testimage")); err != nil {
		return fmt.Errorf("start the registry: %w", err)
	}
	return runPrograms(o, v)
}

// runPrograms starts containerd and then the kubelet. The error says which ended.
func runPrograms(o options, v values) error {
	os.Setenv("PATH", programs+":"+os.Getenv("PATH")+":/usr/sbin:/usr/bin:/sbin:/bin")
	containerd, err := start(filepath.Join(programs, "containerd"),
		"--config="+filepath.Join(v.Config, "containerd.toml"))
	if err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	ended := make(chan int)
	go reap(ended) // ends with the process
	if err := awaitSocket(containerd, ended); err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	kubelet, err := start(filepath.Join(programs, "muster-components"), kubeletArgs(o, v)...)
	if err != nil {
		return fmt.Errorf("start the kubelet: %w", err)
	}
	for {
		switch <-ended {
		case containerd:
			return errors.New("containerd ended")
		case kubelet:
			return errors.New("the kubelet ended")
		}
	}
}

// start starts a program, which prints to the log of this one, and returns its process number.
func start(program string, args ...string) (int, error) {
	process, err := os.StartProcess(program, append([]string{program}, args...), &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	return process.Pid, nil
}

func kubeletArgs(o options, v values) []string {
	args := []string{
		"kubelet", "--v=1",
		"--kubeconfig=" + filepath.Join(v.PKI, o.name+".kubeconfig"),
		"--config=" + filepath.Join(v.Config, "kubelet.yaml"),
		"--root-dir=" + filepath.Join(v.State, "kubelet"),
		"--cert-dir=" + filepath.Join(v.State, "pki"),
		"--hostname-override=" + o.name,
		"--node-ip=" + v.Address.String(),
		"--node-labels=" + o.label + "=true",
	}
	if o.tainted {
		args = append(args, "--register-with-taints="+o.label+"=:NoSchedule")
	}
	return args
}

// reap waits for processes that have ended, which the first process of a namespace has to do for
// all that lost their parents, and sends their numbers.
func reap(ended chan<- int) {
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if err == nil {
			ended <- pid
		} else if !errors.Is(err, syscall.EINTR) {
			time.Sleep(time.Second) // there is no process
		}
	}
}

// awaitSocket waits until containerd listens, or a process with its number has ended.
func awaitSocket(containerd int, ended <-chan int) error {
	timeout := time.After(runtimeTimeout)
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case pid := <-ended:
			if pid == containerd {
				return errors.New("it ended")
			}
		case <-timeout:
			return errors.New("it does not listen")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
