package view

import (
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/ready"
)

// Escape sequences of terminal colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Terminal describes the output. The zero value is a file or a pipe.
type Terminal struct {
	Live   bool // lines can be drawn over
	Colour bool
	ASCII  bool // other characters are not shown
	Width  int  // in columns; 0 is without limit
	Height int  // in lines; 0 is without limit
	// Size returns the width and height of now, since users resize windows. Nil means that they stay.
	Size   func() (width, height int)
	Stderr *TerminalWriter // other output to the same terminal; nil if none
}

// fit cuts a line to the width of the screen.
func (t Terminal) fit(line string) string {
	if runes := []rune(line); t.Width > 0 && len(runes) > t.Width {
		return string(runes[:max(0, t.Width-len([]rune(t.ellipsis())))]) + t.ellipsis()
	}
	return line
}

// fitLine cuts the spans of a line to the width of the screen.
func (t Terminal) fitLine(line []Span) []Span {
	if t.Width == 0 || spanLength(line) <= t.Width {
		return line
	}
	mark := t.ellipsis()
	return append(cutSpans(line, max(0, t.Width-len([]rune(mark)))), Span{Text: mark})
}

// ellipsis returns the sign of a line that is cut.
func (t Terminal) ellipsis() string {
	if t.ASCII {
		return plaintext.ASCII("…")
	}
	return "…"
}

// colourStates colours the states in a text.
func (t Terminal) colourStates(text string) string {
	if !t.Colour {
		return text
	}
	var pairs []string
	for state, paint := range map[ready.State]string{
		ready.Current: green, ready.InProgress: yellow, ready.Terminating: yellow, ready.Failed: red,
	} {
		pairs = append(pairs, "  "+string(state)+"  ", "  "+paint+string(state)+reset+"  ")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
