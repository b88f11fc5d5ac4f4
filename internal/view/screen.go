package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// TerminalWriter writes to a terminal what does not belong to the text that is drawn there, such as warnings. What is drawn next stands
// below it, and nothing is drawn over. It may be used by several goroutines; nil is never written to.
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

// draw has a text drawn while nothing else is written, and tells whether something else was since the last one.
func (a *TerminalWriter) draw(how func(wrote bool)) {
	if a == nil {
		how(false)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	how(a.wrote)
	a.wrote = false
}

// screen is where a text is drawn, over the one that was drawn before if the terminal can do that.
type screen struct {
	out      io.Writer
	terminal Terminal
	drawn    int  // lines on the screen
	pending  bool // the latest text is not on the screen
	latest   string
	err      error
}

// draw shows a text, in one write. A terminal that does not hold it whole is live no more: what has scrolled away cannot be
// drawn over, and the last text is printed by finish.
func (s *screen) draw(text string) {
	s.latest, s.pending = text, true
	if s.terminal.Height > 0 && strings.Count(text, "\n") >= s.terminal.Height {
		s.terminal.Live = false
	}
	if s.terminal.Live {
		s.show()
	}
}

// finish prints the latest text, unless it is on the screen.
func (s *screen) finish() {
	if s.pending {
		s.show()
	}
}

// show writes the latest text over the one that was drawn before.
func (s *screen) show() {
	s.terminal.Stderr.draw(func(wrote bool) {
		up := ""
		if s.drawn > 0 && !wrote {
			up = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn) // to its first line, and clear what is below
		}
		if _, err := io.WriteString(s.out, up+s.latest); err != nil && s.err == nil {
			s.err = err
		}
	})
	s.drawn, s.pending = strings.Count(s.latest, "\n"), false
}
