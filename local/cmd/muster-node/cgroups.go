//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// controllers are those that a kubelet needs, as version 2 enables them.
	controllers = "+cpu +cpuset +memory +pids"
	// removeTimeout bounds the wait for the end of processes in a cgroup.
	removeTimeout = 10 * time.Second
)

// groups are the cgroups of a node: one below the caller's in each hierarchy of version 1, or one.
type groups struct {
	callers []string // folders of the caller's cgroups
	own     []string // folders of the node's
}

// hierarchy is a line of /proc/self/cgroup that has controllers, or a name.
type hierarchy struct {
	names string // controllers, or "name=NAME"
	path  string // of the process's cgroup
}

// folder returns the folder of the hierarchy below a root.
func (h hierarchy) folder(root string) string {
	return filepath.Join(root, strings.TrimPrefix(h.names, "name="))
}

// hierarchies reads the content of /proc/self/cgroup; unified is the cgroup of version 2, if any.
func hierarchies(self string) (first []hierarchy, unified string) {
	for line := range strings.Lines(self) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[1] == "":
			unified = fields[2]
		default:
			first = append(first, hierarchy{names: fields[1], path: fields[2]})
		}
	}
	return first, unified
}

// isUnified reports whether a folder is the root of the cgroups of version 2.
func isUnified(root string) bool {
	_, err := os.Stat(filepath.Join(root, "cgroup.controllers"))
	return err == nil
}

// makeGroups makes the cgroups of a node. The caller removes them also after an error.
func makeGroups(root, self, name string) (groups, error) {
	first, unified := hierarchies(self)
	if isUnified(root) {
		return makeUnified(root, unified, name)
	}
	g := groups{}
	for _, h := range first {
		folder := h.folder(root)
		if _, err := os.Stat(folder); err != nil {
			continue // it is not mounted
		}
		caller := filepath.Join(folder, h.path)
		if _, err := os.Stat(caller); err != nil {
			caller = folder // the folder is the caller's own group: this is a container
		}
		if err := g.add(caller, filepath.Join(caller, name)); err != nil {
			return g, err
		}
		if h.names == "cpuset" {
			if err := g.copySets(caller); err != nil {
				return g, err
			}
		}
	}
	if len(g.own) == 0 {
		return g, fmt.Errorf("no cgroups are mounted below %s", root)
	}
	return g, nil
}

// makeUnified makes a cgroup of version 2 with controllers. Groups with processes cannot have
// children with these, so that it is below the closest ancestor of the caller's that allows it.
func makeUnified(root, path, name string) (groups, error) {
	caller := filepath.Join(root, path)
	if _, err := os.Stat(caller); err != nil {
		caller = root
	}
	for parent := caller; ; parent = filepath.Dir(parent) {
		err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte(controllers), 0)
		if err == nil {
			g := groups{}
			err := g.add(caller, filepath.Join(parent, name))
			return g, err
		}
		if parent == root || parent == filepath.Dir(parent) {
			return groups{}, err
		}
	}
}

// add makes a cgroup in place of one that an earlier node left.
func (g *groups) add(caller, own string) error {
	if err := removeGroup(own); err != nil {
		return err
	}
	if err := os.Mkdir(own, 0o755); err != nil {
		return err
	}
	g.callers, g.own = append(g.callers, caller), append(g.own, own)
	return nil
}

// copySets copies the processors and memory nodes of the caller: a new cpuset has none, and nothing
// can run in it.
func (g *groups) copySets(caller string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		set, err := os.ReadFile(filepath.Join(caller, file))
		if err != nil {
			return err
		}
		own := filepath.Join(g.own[len(g.own)-1], file)
		if err := os.WriteFile(own, set, 0); err != nil {
			return err
		}
	}
	return nil
}

// enter moves this process into the cgroups.
func (g groups) enter() error { return move(g.own) }

// leave moves it back.
func (g groups) leave() error { return move(g.callers) }

func move(folders []string) error {
	pid := []byte(strconv.Itoa(os.Getpid()))
	var failed []error
	for _, folder := range folders {
		failed = append(failed, os.WriteFile(filepath.Join(folder, "cgroup.procs"), pid, 0))
	}
	return errors.Join(failed...)
}

// remove removes the cgroups, whose processes have ended.
func (g groups) remove() error {
	var failed []error
	for _, own := range g.own {
		failed = append(failed, removeGroup(own))
	}
	return errors.Join(failed...)
}

// removeGroup removes a cgroup with those below it; one that does not exist is removed.
func removeGroup(folder string) error {
	end := time.Now().Add(removeTimeout)
	for {
		var failed []error
		for _, dir := range slices.Backward(folders(folder)) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
				failed = append(failed, fmt.Errorf("remove cgroup %s: %w", dir, err))
			}
		}
		if len(failed) == 0 || time.Now().After(end) {
			return errors.Join(failed...)
		}
		time.Sleep(20 * time.Millisecond) // a cgroup is busy until the kernel has let its processes go
	}
}

// folders lists a folder and those below it, each before those that it holds.
func folders(root string) []string {
	var out []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			out = append(out, path)
		}
		return nil // what is gone needs no removal
	})
	return out
}
