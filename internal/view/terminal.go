package view

import (
	"strings"

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
	Width  int // in columns; 0 is without limit
	Height int // in lines; 0 is without limit
	// Size returns the width and height of now, since users resize windows. Nil means that they stay.
	Size   func() (width, height int)
	Stderr *TerminalWriter // other output to the same terminal; nil if none
}

// fit cuts a line to the width of the screen.
func (t Terminal) fit(line string) string {
	if runes := []rune(line); t.Width > 0 && len(runes) > t.Width {
		return string(runes[:t.Width-1]) + "…"
	}
	return line
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
