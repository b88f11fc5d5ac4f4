// Package fullscreen draws whole screens on a terminal, and reads keys from it.
//
// A Screen shows a Content: it asks for the lines of a frame whenever the content has changed, and
// writes the lines that differ. It uses the alternate screen, so that what was on the terminal
// before returns at the end. It restores the terminal when it is closed, suspended (Ctrl-Z) or when
// the process ends early. Ctrl-C stays a signal. A terminal that disappears ends the drawing and
// nothing else. The package knows nothing about what it draws.
package fullscreen

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"
)

// Frames are drawn this far apart at least: after a change, and after a key.
const (
	changeInterval = 100 * time.Millisecond
	keyInterval    = 30 * time.Millisecond
)

// ErrUnsupported is the error of a terminal that no screen can be drawn on.
var ErrUnsupported = errors.New("the terminal cannot be drawn on")

// Content is what a screen shows. The screen calls its methods from one goroutine.
type Content interface {
	// Frame returns the lines of a screen of a size. Lines that exceed it are cut.
	Frame(columns, rows int) []Line
	// Key handles a key.
	Key(Key)
}

// Options describe a screen.
type Options struct {
	In, Out *os.File // Out is a terminal; if In is none, keys come from the controlling terminal
	Colour  bool
	Delay   time.Duration // before the first frame, so that what is quick does not flicker
	Clock   bool          // frames change with the time: one is drawn each second
	Discard bool          // what was typed before the first frame is ignored
	// Restorer restores the terminal if the process ends early. Nil means none.
	Restorer *Restorer
}

// Screen is a content on a terminal. Its methods may be called concurrently.
type Screen struct {
	options Options
	content Content
	tty     *tty

	changed chan struct{} // capacity 1: the content has changed
	keys    chan Key
	stop    chan struct{}
	once    sync.Once
	done    chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what follows
	entered bool       // the terminal is in the state for drawing
	closed  bool       // nothing is drawn any more
	broken  bool       // the terminal cannot be written
	err     error      // why the content cannot be drawn
	frame   frame
}

// Open shows a content on a terminal until the screen is closed.
func Open(o Options, c Content) (*Screen, error) {
	t, err := openTTY(o.In, o.Out)
	if err != nil {
		return nil, err
	}
	s := &Screen{
		options: o, content: c, tty: t,
		changed: make(chan struct{}, 1), keys: make(chan Key),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	o.Restorer.set(s)
	go s.run() // ends with Close
	return s, nil
}

// Changed causes a frame soon. It does not block.
func (s *Screen) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Close restores the terminal. It returns when nothing is drawn any more.
func (s *Screen) Close() {
	s.once.Do(func() { close(s.stop) })
	<-s.done
}

// Done returns a channel that is closed when nothing is drawn any more: after Close, or if the
// content cannot be drawn.
func (s *Screen) Done() <-chan struct{} { return s.done }

// Err returns why the content could not be drawn: it has panicked. Nil means that it was drawn.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Broken reports whether the terminal could not be written.
func (s *Screen) Broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// run draws frames until the screen is closed. A panic of the content ends the drawing and nothing
// else.
func (s *Screen) run() {
	defer close(s.done)
	defer s.options.Restorer.set(nil)
	defer s.restore()
	defer func() {
		if cause := recover(); cause != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = fmt.Errorf("draw the screen: internal error: %v", cause)
		}
	}()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, screenSignals...)
	defer signal.Stop(signals)
	l := loop{Screen: s, next: time.NewTimer(s.options.Delay)}
	defer l.next.Stop()
	defer l.stopReading()
	var seconds <-chan time.Time
	if s.options.Clock {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		seconds = ticker.C
	}
	for {
		select {
		case <-s.stop:
			return
		case <-s.changed:
			l.schedule(changeInterval)
		case <-seconds:
			l.schedule(0)
		case k := <-s.keys:
			if k == Redraw {
				l.clear()
			}
			s.content.Key(k)
			l.schedule(keyInterval)
		case sig := <-signals:
			l.handle(sig)
		case <-l.next.C:
			l.scheduled = false
			l.draw()
		}
	}
}

// loop is the state of the goroutine of a screen.
type loop struct {
	*Screen
	next      *time.Timer // when the next frame is drawn
	began     bool        // the first frame is due
	scheduled bool        // a frame is due
	last      time.Time   // when the last frame was drawn
	stopped   bool        // the process is to be continued before anything is drawn
	reader    *reader     // nil while nothing is read
}

// schedule draws a frame, at the given distance from the last one.
func (l *loop) schedule(interval time.Duration) {
	if !l.began || l.scheduled || l.stopped {
		return // the frame that is due shows the change
	}
	l.scheduled = true
	l.next.Reset(max(0, interval-time.Since(l.last)))
}

// draw draws a frame, on a terminal that belongs to another process none.
func (l *loop) draw() {
	l.began = true
	if l.stopped || !l.tty.isForeground() {
		return
	}
	l.enter()
	columns, rows := l.tty.size()
	lines := l.content.Frame(columns, rows)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entered && !l.closed && !l.broken {
		l.write(l.frame.update(lines, columns, rows, l.options.Colour))
	}
	l.last = time.Now()
}

// clear lets the next frame be drawn as a whole.
func (l *loop) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame = frame{}
}

// enter prepares the terminal for drawing, and begins to read keys.
func (l *loop) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entered || l.closed || l.broken {
		return
	}
	if err := l.tty.hideTyping(l.options.Discard); err != nil {
		l.broken = true
		return
	}
	l.options.Discard = false
	l.entered, l.frame = true, frame{}
	l.write(enterSequence)
	l.reader = l.tty.read(l.keys)
}

// stopReading ends the reading of keys, so that the next program gets what is typed.
func (l *loop) stopReading() {
	if l.reader != nil {
		l.reader.stop()
		l.reader = nil
	}
}

// write writes to the terminal. The caller holds the lock.
func (s *Screen) write(text string) {
	if text == "" || s.broken {
		return
	}
	if _, err := s.options.Out.WriteString(text); err != nil {
		s.broken = true
	}
}

// leave restores the terminal, so that it can be entered again.
func (s *Screen) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.entered {
		return
	}
	s.write(s.frame.leave())
	s.entered = false
	s.tty.showTyping()
}

// restore restores the terminal for good.
func (s *Screen) restore() {
	s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// Restorer restores the terminal when the process ends while a screen is open. It may be used
// concurrently. The zero value is ready to use, and so is nil.
type Restorer struct {
	mu     sync.Mutex
	screen *Screen
}

func (r *Restorer) set(s *Screen) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.screen = s
}

// Restore restores the terminal. Nothing is drawn afterwards.
func (r *Restorer) Restore() {
	if r == nil {
		return
	}
	r.mu.Lock()
	s := r.screen
	r.mu.Unlock()
	if s == nil {
		return
	}
	restored := make(chan struct{})
	go func() { // it ends with the process if the terminal does not take what is written
		s.restore()
		close(restored)
	}()
	select {
	case <-restored:
	case <-time.After(restoreTime):
	}
}

// restoreTime is how long a process that ends waits for its terminal.
const restoreTime = time.Second
