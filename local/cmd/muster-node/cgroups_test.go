//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, text string, elem ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elem...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of version 1 there is a group below the caller's in each mounted hierarchy. Where the caller's
// path is not mounted, as in a container, the root is the caller's group.
func TestGroups(t *testing.T) {
	root := t.TempDir()
	mkdir(t, root, "memory", "user")
	mkdir(t, root, "cpu,cpuacct")
	mkdir(t, root, "systemd")
	cpus := mkdir(t, root, "cpuset")
	write(t, "0-1\n", cpus, "cpuset.cpus")
	write(t, "0\n", cpus, "cpuset.mems")
	mkdir(t, root, "memory", "user", "node", "kubepods", "pod") // an earlier node left it
	const self = `12:hugetlb:/
9:name=systemd:/
4:memory:/user
3:cpuset:/
1:cpu,cpuacct:/docker/1
0::/user
`
	g, err := makeGroups(root, self, "node")
	if err != nil {
		t.Fatal(err)
	}
	callers := []string{"systemd", "memory/user", "cpuset", "cpu,cpuacct"}
	var own []string
	for i, path := range callers {
		callers[i] = filepath.Join(root, path)
		own = append(own, filepath.Join(callers[i], "node"))
	}
	if diff := cmp.Diff(groups{callers, own}, g, cmp.AllowUnexported(groups{})); diff != "" {
		t.Error(diff)
	}
	if left := folders(own[1]); len(left) != 1 {
		t.Errorf("the group of an earlier node still has %v", left)
	}
	cpus, mems := filepath.Join(own[2], "cpuset.cpus"), filepath.Join(own[2], "cpuset.mems")
	if text, err := os.ReadFile(cpus); string(text) != "0-1\n" {
		t.Errorf("processors %q, %v", text, err)
	}
	if err := g.enter(); err != nil {
		t.Error(err)
	}
	// Files of real cgroups go with their folder.
	for _, path := range append([]string{cpus, mems}, procs(own)...) {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if err := g.remove(); err != nil {
		t.Error(err)
	}
	for _, path := range own {
		if left := folders(path); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}

func procs(folders []string) []string {
	out := slices.Clone(folders)
	for i := range out {
		out[i] = filepath.Join(out[i], "cgroup.procs")
	}
	return out
}

// Of version 2 there is one group, below the closest that can have children with controllers.
func TestUnifiedGroup(t *testing.T) {
	for name, test := range map[string]struct {
		self   string
		busy   string // a group with processes, below which there can be no controllers
		caller string
		own    string
	}{
		"below the caller":  {"0::/user/session\n", "", "user/session", "user/session/node"},
		"below its parent":  {"0::/user/session\n", "user/session", "user/session", "user/node"},
		"in a container":    {"0::/docker/1\n", "", "", "node"},
		"root of the host":  {"0::/\n", "", "", "node"},
		"unknown hierarchy": {"", "", "", "node"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			mkdir(t, root, "user", "session")
			write(t, "cpu memory\n", root, "cgroup.controllers")
			if test.busy != "" { // a folder cannot be written
				mkdir(t, root, test.busy, "cgroup.subtree_control")
			}
			g, err := makeGroups(root, test.self, "node")
			if err != nil {
				t.Fatal(err)
			}
			want := groups{[]string{filepath.Join(root, test.caller)},
				[]string{filepath.Join(root, test.own)}}
			if diff := cmp.Diff(want, g, cmp.AllowUnexported(groups{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
