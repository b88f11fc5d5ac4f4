package kustomize

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

const watched = syscall.IN_OPEN | syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVE

// watchChildren returns a function that reports whether a child of this process has ended since its
// last call.
func watchChildren(t testing.TB) func() bool {
	t.Helper()
	usage := func() (used syscall.Rusage) {
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
			t.Fatal(err)
		}
		return used
	}
	last := usage()
	return func() bool {
		before := last
		last = usage()
		return last != before
	}
}

// watchOpened returns a function that returns the files of a folder that were opened or changed
// since its last call.
func watchOpened(t testing.TB, dir string) func() []string {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if _, err := syscall.InotifyAddWatch(fd, dir, watched); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<16)
	return func() []string {
		var names []string
		for {
			n, err := syscall.Read(fd, buffer)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil || n <= 0 {
				return names
			}
			for at := 0; at+syscall.SizeofInotifyEvent <= n; {
				event := (*syscall.InotifyEvent)(unsafe.Pointer(&buffer[at]))
				end := at + syscall.SizeofInotifyEvent + int(event.Len)
				name := strings.TrimRight(string(buffer[at+syscall.SizeofInotifyEvent:end]), "\x00")
				if event.Mask&(syscall.IN_ISDIR|syscall.IN_OPEN) != syscall.IN_ISDIR|syscall.IN_OPEN {
					names = append(names, dir+"/"+name)
				}
				at = end
			}
		}
	}
}
