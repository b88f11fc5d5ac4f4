package live

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
)

// wrap returns a text as lines of at most the given columns.
func wrap(text string, columns int) []string {
	var lines []string
	for fullscreen.Width(text) > columns {
		line := fullscreen.Cut(text, columns)
		if space := strings.LastIndexByte(line, ' '); space > columns/2 {
			line = line[:space+1]
		}
		lines = append(lines, strings.TrimRight(line, " "))
		text = text[len(line):]
	}
	return append(lines, text)
}

// ellipsis cuts a text to the given columns, and marks it if it was longer.
func (r *Run) ellipsis(text string, columns int) string {
	return ellipsis(text, columns, r.options.ASCII)
}

func ellipsis(text string, columns int, ascii bool) string {
	if fullscreen.Width(text) <= columns {
		return text
	}
	mark := "…"
	if ascii {
		text, mark = plaintext.ASCII(text), plaintext.ASCII(mark)
	}
	room := max(0, columns-fullscreen.Width(mark))
	return fullscreen.Cut(text, room) + fullscreen.Cut(mark, max(0, columns))
}

// minKind is how many columns the kind before a name has at least.
const minKind = 4

// shorten cuts the name of an object to the given columns: its kind, which many objects share, or
// else the middle of its own name.
func shorten(name string, columns int, ascii bool) string {
	if fullscreen.Width(name) <= columns {
		return name
	}
	slash := strings.LastIndexByte(name, '/')
	if slash >= 0 && columns-fullscreen.Width(name[slash:]) >= minKind {
		return ellipsis(name[:slash], columns-fullscreen.Width(name[slash:]), ascii) + name[slash:]
	}
	own := name[slash+1:]
	if fullscreen.Width(own) <= columns {
		return own
	}
	end := own
	for fullscreen.Width(end) > columns/2 {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return ellipsis(own, columns-fullscreen.Width(end), ascii) + end
}

// pad fills a text up with spaces.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-fullscreen.Width(text)))
}

// clock formats a duration in seconds, in two units from a minute on.
func clock(d time.Duration) string {
	s := int(max(0, d).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
}

// count returns a number with its noun. "more" has no plural.
func count(n int, noun string) string {
	if n != 1 && noun != "more" {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
