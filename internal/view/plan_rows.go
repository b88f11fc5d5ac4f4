package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/plaintext"
)

// Escape sequences of terminal colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	reset  = "\x1b[0m"
)

// Row is the planned change of one object.
type Row struct {
	Sign byte     // + created, ~ changed, - removed, ! refused; anything else: unchanged
	Line string   // the change as a sentence
	Diff string   // a result of UnifiedDiff
	More []string // explanations, printed indented
}

// PrintChanges prints rows, each with its difference indented below it, and the totals.
func PrintChanges(out io.Writer, t Terminal, changes []Row, totals string) error {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(t.paint(c.Sign, fmt.Sprintf("%c %s", c.Sign, plaintext.Printable(c.Line))) + "\n")
		for _, line := range c.More {
			b.WriteString("    " + plaintext.Printable(line) + "\n")
		}
		for line := range strings.Lines(c.Diff) {
			line = plaintext.Printable(strings.TrimSuffix(line, "\n"))
			b.WriteString("    " + t.paint(line[0], line) + "\n")
		}
	}
	b.WriteString(plaintext.Printable(totals) + "\n")
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
