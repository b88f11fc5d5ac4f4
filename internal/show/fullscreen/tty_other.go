//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package fullscreen

import "os"

var screenSignals []os.Signal

func (l *loop) handle(os.Signal) {}

// tty is a terminal; on this system none can be drawn on.
type tty struct{}

func openTTY(_, _ *os.File) (*tty, error) { return nil, ErrUnsupported }

func (*tty) size() (columns, rows int)    { return 0, 0 }
func (*tty) isForeground() bool           { return false }
func (*tty) hideTyping(bool) error        { return ErrUnsupported }
func (*tty) showTyping()                  {}
func (*tty) read(keys chan<- Key) *reader { return nil }

type reader struct{}

func (*reader) stop() {}
