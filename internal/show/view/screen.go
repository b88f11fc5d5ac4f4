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

	mu       sync.Mutex
	wrote    bool
	diverted func(string) // nil unless a whole screen is drawn
	kept     []byte       // what was written meanwhile
}

// Write writes to the terminal.
func (a *TerminalWriter) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.diverted != nil {
		a.kept = append(a.kept, data...)
		a.diverted(string(data))
		return len(data), nil
	}
	a.wrote = true
	return a.Out.Write(data)
}

// Divert passes what is written to a function, until the returned function writes it to the
// terminal. The function must not write to the terminal. A nil TerminalWriter diverts nothing.
func (a *TerminalWriter) Divert(f func(text string)) (release func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.diverted = f
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.diverted = nil
		_, _ = a.Out.Write(a.kept) // who reads it may have gone
		a.kept = nil
	}
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
	drawn    string // the text on the screen
	latest   string
	pending  bool // the latest text is not on the screen
	narrowed bool // the terminal may have wrapped the lines of the text that is drawn
	err      error
}

// measure reads the size of the terminal. Call it before a text is made for its width.
func (s *screen) measure() {
	if s.terminal.Size == nil {
		return
	}
	width, height := s.terminal.Size()
	s.narrowed = s.narrowed || width < s.terminal.Width
	s.terminal.Width, s.terminal.Height = width, height
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

// show writes the latest text over the previous one, or below it if that may be wrapped.
func (s *screen) show() {
	s.terminal.Stderr.draw(func(wrote bool) {
		text := s.latest
		if !wrote && !s.narrowed {
			text = overwrite(s.drawn, s.latest)
		}
		if text == "" {
			return
		}
		if _, err := io.WriteString(s.out, text); err != nil && s.err == nil {
			s.err = err
		}
	})
	s.drawn, s.pending, s.narrowed = s.latest, false, false
}

// overwrite returns what to write below the lines of one text to have those of another there: the
// lines from the first that differs on.
func overwrite(old, new string) string {
	same := 0 // the length of the lines that both begin with
	for i := 0; i < min(len(old), len(new)) && old[i] == new[i]; i++ {
		if old[i] == '\n' {
			same = i + 1
		}
	}
	up := ""
	if lines := strings.Count(old[same:], "\n"); lines > 0 {
		// to the first column, from which the echo of a key may have moved the cursor
		up = fmt.Sprintf("\x1b[%dF\x1b[J", lines)
	}
	return up + new[same:]
}
