package e2e

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithParent has the kernel end this run when "go test" ends before it, as when that is killed.
func endWithParent() {
	_ = unix.Prctl(
		unix.PR_SET_PDEATHSIG,
		uintptr(syscall.SIGTERM),
		0,
		0,
		0,
	) // without it the run merely lasts longer
}
