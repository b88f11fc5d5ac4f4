package kustomize

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// watchOpened returns a function that returns the files of a folder that were opened since then.
func watchOpened(t testing.TB, dir string) func() []string {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN); err != nil {
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
				if event.Mask&syscall.IN_ISDIR == 0 {
					names = append(names, dir+"/"+name)
				}
				at = end
			}
		}
	}
}
