package view

import (
	"fmt"
	"io"
	"strings"
)

// The escape sequences of the terminal's colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	reset  = "\x1b[0m"
)

// Change is what would be done to one object.
type Change struct {
	Sign byte     // + created, ~ changed, - removed, ! refused; anything else stays as it is
	Line string   // what would be done, in a sentence
	Diff string   // as Unified gives it
	More []string // lines that explain, indented
}

// Changes prints changes, each with its difference indented below it, and the totals.
func Changes(out io.Writer, t Terminal, changes []Change, totals string) error {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(t.paint(c.Sign, fmt.Sprintf("%c %s", c.Sign, Plain(c.Line))) + "\n")
		for _, line := range c.More {
			b.WriteString("    " + Plain(line) + "\n")
		}
		for line := range strings.Lines(c.Diff) {
			line = Plain(strings.TrimSuffix(line, "\n"))
			b.WriteString("    " + t.paint(line[0], line) + "\n")
		}
	}
	b.WriteString(Plain(totals) + "\n")
	_, err := io.WriteString(out, b.String())
	return wrapWrite(err)
}

// paint colours a line by its sign.
func (t Terminal) paint(sign byte, line string) string {
	colours := map[byte]string{'+': green, '-': red, '!': red, '~': yellow, '@': cyan}
	if colour := colours[sign]; t.Colour && colour != "" {
		return colour + line + reset
	}
	return line
}
