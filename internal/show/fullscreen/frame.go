package fullscreen

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Style is the parameter of an escape sequence that sets colour and weight. Empty is plain.
type Style string

// The styles.
const (
	Plain    Style = ""
	Bold     Style = "1"
	Faint    Style = "2"
	Reversed Style = "7"
	Red      Style = "31"
	Green    Style = "32"
	Yellow   Style = "33"
	Cyan     Style = "36"
)

// Span is a text in one style. It must not have control characters.
type Span struct {
	Text  string
	Style Style
}

// Line is a line of a screen.
type Line []Span

// Text returns a line without styles.
func (l Line) Text() string {
	var b strings.Builder
	for _, span := range l {
		b.WriteString(span.Text)
	}
	return b.String()
}

// Width returns the columns of a text.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns the columns of a character: none for marks that combine with the one before.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut returns the beginning of a text that fits in the given columns.
func Cut(text string, columns int) string {
	for i, r := range text {
		if columns -= runeWidth(r); columns < 0 {
			return text[:i]
		}
	}
	return text
}

// encode returns a line of at most the given columns, with its styles if the terminal has colour.
// It clears the rest of the line. Behind the last column there is none: terminals would clear that.
func (l Line) encode(columns int, colour bool) string {
	var b strings.Builder
	for _, span := range l {
		text := Cut(span.Text, columns)
		columns -= Width(text)
		if colour && span.Style != Plain && text != "" {
			text = "\x1b[" + string(span.Style) + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
	}
	if columns > 0 {
		b.WriteString(clearToEnd)
	}
	return b.String()
}

// Escape sequences of VT100 and its descendants. A terminal without an alternate screen ignores the
// first, and shows the frame below what was there.
const (
	// the alternate screen; no cursor; lines are not wrapped
	enterSequence = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveSequence = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	clearScreen   = "\x1b[2J"
	clearToEnd    = "\x1b[K"
)

// frame is what is on the screen.
type frame struct {
	lines         []string // without those that are empty at the end
	columns, rows int
}

// update returns what has to be written to show other lines.
func (f *frame) update(lines []Line, columns, rows int, colour bool) string {
	var b strings.Builder
	if columns != f.columns || rows != f.rows {
		*f = frame{columns: columns, rows: rows}
		b.WriteString(clearScreen)
	}
	drawn := make([]string, min(len(lines), rows))
	for i := range drawn {
		drawn[i] = lines[i].encode(columns, colour)
	}
	for i := range max(len(drawn), len(f.lines)) {
		old, now := clearToEnd, clearToEnd
		if i < len(f.lines) {
			old = f.lines[i]
		}
		if i < len(drawn) {
			now = drawn[i]
		}
		if old != now {
			fmt.Fprintf(&b, "\x1b[%d;1H%s", i+1, now)
		}
	}
	f.lines = drawn
	return b.String()
}

// leave returns what has to be written to show what was there before. The cursor goes to the last
// line first, for terminals without an alternate screen.
func (f *frame) leave() string {
	return fmt.Sprintf("\x1b[%d;1H%s", max(1, f.rows), clearToEnd) + leaveSequence
}
