package plane

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/muster-deploy/muster/local/kubelet"
)

const (
	binNode = "muster-node"
	// realSlots is how many real nodes can be on one machine.
	realSlots = 64
)

// realPrograms are what a real node needs besides the plane's programs, in the folder of these.
var realPrograms = []string{binNode, "node/muster-components", "node/containerd",
	"node/containerd-shim-runc-v2", "node/host-local", "node/ptp", "node/testimage"}

// realNode is a node that runs containers, in one start of the plane.
type realNode struct {
	Slot int `json:"slot"` // number of its addresses on this machine
	Port int `json:"port"` // on 127.0.0.1, where its kubelet answers
}

func realName(i int) string { return "real-" + strconv.Itoa(i) }

// address returns the address of the node, as muster-node assigns it.
func (n realNode) address() string { return fmt.Sprintf("10.126.255.%d", 4*n.Slot+2) }

// realComponent returns the component that runs the real node of a number.
func realComponent(i int) component {
	return component{
		name: realName(i), binary: binNode, needs: []string{apiServer},
		args: func(p paths, s *state) []string { return realArgs(p, s, i) },
		port: func(s *state) int { return s.Real[i].Port }, ready: "/healthz",
	}
}

func realArgs(p paths, s *state, i int) []string {
	return []string{
		"--name=" + realName(i),
		"--label=" + kubelet.RealNode,
		"--slot=" + strconv.Itoa(s.Real[i].Slot),
		"--state=" + string(p),
		"--bin=" + s.Bin,
		"--api-port=" + strconv.Itoa(s.Ports.APIServer),
		"--port=" + strconv.Itoa(s.Real[i].Port),
		"--tainted=" + strconv.FormatBool(s.Nodes > 0),
	}
}

// RealNodesPossible returns why this machine cannot run real nodes with programs in a folder, or
// nil.
func RealNodesPossible(bin string) error {
	if runtime.GOOS != "linux" {
		return errors.New("real nodes need Linux")
	}
	if os.Geteuid() != 0 {
		return errors.New("real nodes need root: they mount file systems and make network links")
	}
	// Where overlayfs is a module, it is loaded when it is needed first.
	if !hasOverlay() && (exec.Command("modprobe", "overlay").Run() != nil || !hasOverlay()) {
		return errors.New("real nodes need overlayfs, which this kernel does not have")
	}
	if groups, err := filepath.Glob("/sys/fs/cgroup/*"); err != nil || len(groups) == 0 {
		return errors.New("real nodes need cgroups, and none are mounted at /sys/fs/cgroup")
	}
	for _, name := range realPrograms {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("%s is not in %s: run \"make build-node\" first", name, bin)
		}
	}
	if _, err := os.Stat(filepath.Join(bin, "node", "runc")); err != nil {
		if _, err := exec.LookPath("runc"); err != nil {
			return fmt.Errorf("there is no runc in %s or the path: run \"make build-node\" first", bin)
		}
	}
	return nil
}

// hasOverlay reports whether the kernel has overlayfs loaded.
func hasOverlay() bool {
	systems, err := os.ReadFile("/proc/filesystems")
	return err == nil && bytes.Contains(systems, []byte("\toverlay\n"))
}

// placeReal chooses slots and ports for the real nodes, as freePorts does.
func placeReal(count int) (placed []realNode, err error) {
	held := []net.Listener{}
	defer func() {
		for _, listener := range held {
			err = errors.Join(err, listener.Close())
		}
	}()
	for slot := 0; slot < realSlots && len(placed) < count; slot++ {
		claim, busy := net.Listen("unix", fmt.Sprintf("@muster-node-%d", slot))
		if busy != nil {
			continue // another node has it
		}
		held = append(held, claim)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		held = append(held, listener)
		placed = append(placed, realNode{Slot: slot, Port: listener.Addr().(*net.TCPAddr).Port})
	}
	if len(placed) < count {
		return nil, fmt.Errorf("this machine has room for %d more real nodes, not for %d",
			len(placed), count)
	}
	return placed, nil
}

// issueReal issues the certificates of the real nodes, whose addresses may be new, with which they
// serve and reach the API server.
func issueReal(p paths, nodes []realNode, now time.Time) error {
	if len(nodes) == 0 {
		return nil
	}
	ca, err := ensureAuthority(p, now)
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	for i, n := range nodes {
		err := issue(p, ca, leaf{name: realName(i), user: "system:node:" + realName(i),
			groups: []string{"system:nodes"}, hosts: loopback(n.address())}, now)
		if err != nil {
			return fmt.Errorf("certificate %s: %w", realName(i), err)
		}
	}
	return nil
}
