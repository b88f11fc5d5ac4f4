//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package fullscreen

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// screenSignals are the signals that a screen handles. SIGINT is not among them.
var screenSignals = []os.Signal{
	syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGQUIT,
}

// handle handles a signal.
func (l *loop) handle(sig os.Signal) {
	switch sig {
	case syscall.SIGTSTP:
		l.stopReading()
		l.leave()
		l.stopped = true
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // a process can always stop itself
	case syscall.SIGCONT:
		l.stopped = false
		l.stopReading()
		l.mu.Lock()
		l.entered = false // whoever had the terminal meanwhile has left it in an unknown state
		l.mu.Unlock()
		l.schedule(0)
	case syscall.SIGQUIT:
		l.restore()
		signal.Reset(syscall.SIGQUIT)
		_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // the runtime prints the goroutines
	default:
		l.schedule(changeInterval)
	}
}

// tty is a terminal: its keys and its screen.
type tty struct {
	in, out int
	saved   *unix.Termios // nil while typing is shown
}

// openTTY returns the terminal of two files.
func openTTY(in, out *os.File) (*tty, error) {
	t := &tty{in: int(in.Fd()), out: int(out.Fd())}
	if _, err := unix.IoctlGetTermios(t.out, getTermios); err != nil {
		return nil, ErrUnsupported
	}
	if _, err := unix.IoctlGetTermios(t.in, getTermios); err != nil {
		// The file stays open until the process ends.
		if t.in, err = unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil, ErrUnsupported
		}
	}
	if columns, rows := t.size(); columns == 0 || rows == 0 || !t.isForeground() {
		return nil, ErrUnsupported
	}
	return t, nil
}

// size returns the columns and rows of the terminal; 0 if it has no size.
func (t *tty) size() (columns, rows int) {
	size, err := unix.IoctlGetWinsize(t.out, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// isForeground reports whether the terminal belongs to this process: its shell has not put it in
// the background. A terminal without jobs belongs to all.
func (t *tty) isForeground() bool {
	group, err := unix.IoctlGetInt(t.out, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// hideTyping lets keys arrive at once and unseen. Keys that send signals still do.
func (t *tty) hideTyping(discard bool) error {
	state, err := unix.IoctlGetTermios(t.in, getTermios)
	if err != nil {
		return err
	}
	saved := *state
	state.Lflag &^= unix.ICANON | unix.ECHO
	state.Iflag &^= unix.IXON // Ctrl-S would stop the drawing
	state.Cc[unix.VMIN], state.Cc[unix.VTIME] = 1, 0
	request := uint(setTermios)
	if discard {
		request = setTermiosDiscard
	}
	if err := unix.IoctlSetTermios(t.in, request, state); err != nil {
		return err
	}
	if t.saved == nil {
		t.saved = &saved
	}
	return nil
}

// showTyping restores the state before hideTyping, unless another process has the terminal now.
func (t *tty) showTyping() {
	if t.saved != nil && t.isForeground() {
		_ = unix.IoctlSetTermios(t.in, setTermios, t.saved) // it may have disappeared
	}
	t.saved = nil
}

// reader reads keys.
type reader struct {
	wake  [2]int // a pipe whose end ends the reading
	ended chan struct{}
	close sync.Once
	done  chan struct{}
}

// escapeTime is how long the rest of a sequence may take.
const escapeTime = 50 * time.Millisecond

// read sends keys until the reader is stopped, or the terminal disappears. It returns nil if
// nothing can be read.
func (t *tty) read(keys chan<- Key) *reader {
	r := &reader{ended: make(chan struct{}), done: make(chan struct{})}
	if err := unix.Pipe(r.wake[:]); err != nil {
		return nil
	}
	unix.CloseOnExec(r.wake[0])
	unix.CloseOnExec(r.wake[1])
	go r.run(t.in, keys) // ends with stop
	return r
}

// stop ends the reading, and returns when it has ended.
func (r *reader) stop() {
	r.close.Do(func() {
		close(r.ended)
		_, _ = unix.Write(r.wake[1], []byte{0}) // the pipe has room
		<-r.done
		unix.Close(r.wake[0])
		unix.Close(r.wake[1])
	})
}

func (r *reader) run(in int, keys chan<- Key) {
	defer close(r.done)
	var pending []byte
	for {
		ready := r.await(in, len(pending) > 0)
		if ready < 0 {
			return
		}
		if ready > 0 {
			var chunk [256]byte
			n, err := unix.Read(in, chunk[:])
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				select {
				case keys <- EndOfFile:
				case <-r.ended:
				}
				return
			}
			pending = append(pending, chunk[:n]...)
		}
		for {
			k, size := parseKey(pending, ready == 0)
			if size == 0 {
				break
			}
			pending = pending[size:]
			if k == unknownKey {
				continue
			}
			select {
			case keys <- k:
			case <-r.ended:
				return
			}
		}
	}
}

// await waits for input. It returns 0 if the rest of a sequence does not come, and less than 0 if
// nothing is to be read any more.
func (r *reader) await(in int, partial bool) int {
	for {
		var files unix.FdSet
		files.Set(in)
		files.Set(r.wake[0])
		var limit *unix.Timeval
		if partial {
			t := unix.NsecToTimeval(escapeTime.Nanoseconds())
			limit = &t
		}
		n, err := unix.Select(max(in, r.wake[0])+1, &files, nil, nil, limit)
		switch {
		case err == unix.EINTR:
		case err != nil, n > 0 && files.IsSet(r.wake[0]):
			return -1
		default:
			return n
		}
	}
}
