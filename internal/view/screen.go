package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// TerminalWriter writes text to a terminal on which something is drawn, such as warnings. Later
// drawings begin below that text. Several goroutines may use it; a nil TerminalWriter must not be
// written to.
type TerminalWriter struct {
	Out io.Writer

	mu    sync.Mutex
	wrote bool
}

// Write writes to the terminal.
func (a *TerminalWriter) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrote = true
	return a.Out.Write(data)
}

// draw calls f while nothing else is written. wrote reports whether anything was written since the
// last call.
func (a *TerminalWriter) draw(f func(wrote bool)) {
	if a == nil {
		f(false)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.wrote)
	a.wrote = false
}

// screen draws a text over the previous one if the terminal supports it.
type screen struct {
	out      io.Writer
	terminal Terminal
	drawn    int  // lines on the screen
	pending  bool // the latest text is not on the screen
	latest   string
	err      error
}

// draw writes a text over the previous one. If the terminal is too low for it, drawing stops: lines
// that have scrolled away cannot be replaced, so only finish prints the last text.
func (s *screen) draw(text string) {
	s.latest, s.pending = text, true
	if s.terminal.Height > 0 && strings.Count(text, "\n") >= s.terminal.Height {
		s.terminal.Live = false
	}
	if s.terminal.Live {
		s.show()
	}
}

// finish prints the latest text unless it is on the screen.
func (s *screen) finish() {
	if s.pending {
		s.show()
	}
}

// show writes the latest text over the previous one.
func (s *screen) show() {
	s.terminal.Stderr.draw(func(wrote bool) {
		up := ""
		if s.drawn > 0 && !wrote {
			up = fmt.Sprintf(
				"\x1b[%dA\x1b[J", s.drawn,
			) // to its first line, and clear to the end of the screen
		}
		if _, err := io.WriteString(s.out, up+s.latest); err != nil && s.err == nil {
			s.err = err
		}
	})
	s.drawn, s.pending = strings.Count(s.latest, "\n"), false
}
