//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sysctls are those that a kubelet sets for the whole machine, and without which it does not start.
// It finds files with these values instead.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// mountAll mounts what the node needs in its namespace: /proc, /sys and the cgroups of the
// namespaces, empty folders /run and /var in which programs have fixed paths, and in /run the
// folders of the plane and of the programs.
func mountAll(o options) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	// Opened first: /run and /var may hide them.
	plane, err := os.Open(o.state)
	if err != nil {
		return err
	}
	defer plane.Close()
	bin, err := os.Open(o.bin)
	if err != nil {
		return err
	}
	defer bin.Close()
	if err := mount("proc", "/proc", ""); err != nil {
		return err
	}
	if err := mountGroups(); err != nil {
		return err
	}
	for _, folder := range []string{"/run", "/var"} {
		if err := mount("tmpfs", folder, "mode=755"); err != nil {
			return err
		}
	}
	for _, folder := range []string{"/var/lib", "/var/log", "/var/tmp"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for target, source := range map[string]*os.File{planeFolder: plane, binFolder: bin} {
		if err := bind(fmt.Sprintf("/proc/self/fd/%d", source.Fd()), target); err != nil {
			return err
		}
	}
	volumes := filepath.Join(planeFolder, o.name, "volumes")
	if err := os.MkdirAll(volumes, 0o755); err != nil {
		return err
	}
	if err := bind(volumes, volumeFolder); err != nil {
		return err
	}
	if err := replaceSysctls(); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// mount mounts a file system that needs no device.
func mount(kind, target, options string) error {
	if err := unix.Mount(kind, target, kind, 0, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, target, err)
	}
	return nil
}

// bind makes a folder appear in another.
func bind(source, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount a folder on %s: %w", target, err)
	}
	return nil
}

// replaceSysctls mounts files over sysctls.
func replaceSysctls() error {
	for name, value := range sysctls {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); err != nil {
			continue // this kernel has no such setting
		}
		file := filepath.Join("/run/sysctls", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount a file on %s: %w", target, err)
		}
	}
	return nil
}

// mountGroups mounts /sys, and the cgroups, whose roots are the node's own groups.
func mountGroups() error {
	unified := isUnified(cgroupRoot)
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount /sys: %w", err)
	}
	if err := mount("sysfs", "/sys", ""); err != nil {
		return err
	}
	if unified {
		return mountUnified()
	}
	if err := mount("tmpfs", cgroupRoot, "mode=755"); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	first, _ := hierarchies(string(self))
	for _, h := range first {
		folder := h.folder(cgroupRoot)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if unix.Mount("cgroup", folder, "cgroup", 0, h.names) != nil {
			_ = os.Remove(folder) // a controller that is not enabled
		}
	}
	return nil
}

// mountUnified mounts the cgroups of version 2. Groups with processes cannot have children with
// controllers, so that this process moves into a child of its own.
func mountUnified() error {
	if err := mount("cgroup2", cgroupRoot, ""); err != nil {
		return err
	}
	own := filepath.Join(cgroupRoot, "programs")
	if err := os.Mkdir(own, 0o755); err != nil {
		return err
	}
	if err := move([]string{own}); err != nil {
		return err
	}
	control := filepath.Join(cgroupRoot, "cgroup.subtree_control")
	return os.WriteFile(control, []byte(controllers), 0)
}
