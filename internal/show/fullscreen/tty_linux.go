package fullscreen

import "golang.org/x/sys/unix"

const (
	getTermios        = unix.TCGETS
	setTermios        = unix.TCSETSW
	setTermiosDiscard = unix.TCSETSF
)
