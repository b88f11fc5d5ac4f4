package view

import (
	"fmt"
	"io"
	"strings"
)

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
	lines := strings.Count(text, "\n")
	if s.terminal.Live && s.terminal.Height > 0 && max(lines, s.drawn) >= s.terminal.Height {
		s.terminal.Live = false
	}
	if !s.terminal.Live {
		return
	}
	up := ""
	if s.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn) // to its first line, and clear what is below
	}
	s.write(up + text)
	s.drawn, s.pending = lines, false
}

// finish prints the latest text, unless it is on the screen.
func (s *screen) finish() {
	if s.pending {
		s.write(s.latest)
		s.pending = false
	}
}

func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.err == nil {
		s.err = err
	}
}
