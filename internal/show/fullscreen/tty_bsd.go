//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package fullscreen

import "golang.org/x/sys/unix"

const (
	getTermios        = unix.TIOCGETA
	setTermios        = unix.TIOCSETAW
	setTermiosDiscard = unix.TIOCSETAF
)
