package textdiff

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Format is the format of lines. The zero value shows changed lines only, without numbers and
// colours.
type Format struct {
	Context int  // number of common lines around a change; negative shows all
	Numbers bool // shows line numbers, from zero
	Colour  bool // shows removed lines in red and added ones in green
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	plain  = "\x1b[0m"
	gap    = "  ..."
	blanks = "   "
)

// Write writes lines in kapp's format. It writes common lines up to Context records after a change
// and less than Context before one, so that Context 2 shows one line before a change and two after
// it. "  ..." stands before common lines that follow omitted ones, or the first record. Like kapp,
// it writes an empty line if there is nothing to write.
func Write(w io.Writer, lines []Line, f Format) error {
	out := &writer{Writer: bufio.NewWriter(w), Format: f}
	written, shown := 0, false
	lastChange, upcoming := -1, nextChange(lines, 0)
	for i, line := range lines {
		if line.Op != Same {
			lastChange, upcoming = i, nextChange(lines, i+1)
			out.line(line)
			written++
			continue
		}
		near := f.Context < 0 || lastChange >= 0 && i-lastChange <= f.Context ||
			upcoming < len(lines) && upcoming-i < f.Context
		if near && !shown && i > 0 {
			out.WriteString(gap + "\n")
		}
		if near {
			out.line(line)
			written++
		}
		shown = near
	}
	if written == 0 {
		out.WriteString("\n")
	}
	return out.Flush()
}

// nextChange returns the index of the first changed record from i on, or the number of records.
func nextChange(lines []Line, i int) int {
	for i < len(lines) && lines[i].Op == Same {
		i++
	}
	return i
}

// writer keeps the first write error, as bufio does.
type writer struct {
	*bufio.Writer
	Format
}

func (w *writer) line(line Line) {
	colour, mark := "", "  "
	switch line.Op {
	case Removed:
		colour, mark = red, "- "
	case Added:
		colour, mark = green, "+ "
	}
	if w.Colour {
		w.WriteString(colour)
	}
	if w.Numbers {
		w.place(line.Old, line.Op != Added)
		if line.Op == Same {
			w.WriteString(",")
		} else {
			w.WriteString(" ")
		}
		w.place(line.New, line.Op != Removed)
		w.WriteString(" ")
	}
	w.WriteString(mark)
	w.WriteString(line.Text)
	if w.Colour && colour != "" {
		w.WriteString(plain)
	}
	w.WriteString("\n")
}

// place writes a number in at least three columns, or as many spaces.
func (w *writer) place(number int, known bool) {
	text := ""
	if known {
		text = strconv.Itoa(number)
	}
	w.WriteString(blanks[:max(0, 3-len(text))])
	w.WriteString(text)
}

// FormatChanges returns the changed lines, each after its numbers on both sides, as kapp puts them
// into messages:
//
//	2,  2 - old
//	3,  2 + new
func FormatChanges(lines []Line) string {
	var out strings.Builder
	for _, line := range lines {
		switch line.Op {
		case Removed:
			fmt.Fprintf(&out, "%3d,%3d - %s\n", line.Old, line.New, line.Text)
		case Added:
			fmt.Fprintf(&out, "%3d,%3d + %s\n", line.Old, line.New, line.Text)
		}
	}
	return out.String()
}
