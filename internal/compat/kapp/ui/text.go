package ui

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Age returns a short age, like that of kubectl: "5s", "3m", "2h", "4d" or "1y". The age of the
// zero time is empty.
func Age(made, now time.Time) string {
	if made.IsZero() {
		return ""
	}
	return duration.ShortHumanDuration(now.Sub(made))
}

// Wrap breaks lines between words so that they have at most width runes. A longer word stays whole.
// Line breaks in the text are kept.
func Wrap(text string, width int) string {
	var b strings.Builder
	column, space := 0, "" // the width of the line, and the blanks after it
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n':
			if column+utf8.RuneCountInString(space) <= width {
				b.WriteString(space)
			}
			b.WriteByte('\n')
			column, space, text = 0, "", text[1:]
		case isBlank(r):
			space, text = space+text[:size], text[size:]
		default:
			end := strings.IndexFunc(text, func(r rune) bool { return r == '\n' || isBlank(r) })
			if end < 0 {
				end = len(text)
			}
			word, gap := utf8.RuneCountInString(text[:end]), utf8.RuneCountInString(space)
			if column > 0 && column+gap+word > width {
				b.WriteByte('\n')
				column, gap, space = 0, 0, ""
			}
			b.WriteString(space)
			b.WriteString(text[:end])
			column, space, text = column+gap+word, "", text[end:]
		}
	}
	if column+utf8.RuneCountInString(space) <= width {
		b.WriteString(space)
	}
	return b.String()
}

// isBlank reports whether a line may be broken at a rune.
func isBlank(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' }
