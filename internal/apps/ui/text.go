package ui

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Age is how old something is, shortly, as kubectl tells it: "5s", "3m", "2h", "4d" or "1y". The zero time has no age.
func Age(made, now time.Time) string {
	if made.IsZero() {
		return ""
	}
	return duration.ShortHumanDuration(now.Sub(made))
}

// Wrap breaks lines between words so that none is wider than width runes, but for single words that are. Breaks of the text
// itself stay.
func Wrap(text string, width int) string {
	var b strings.Builder
	column, space := 0, "" // the width of the line so far, and the blanks after it that are not written yet
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n':
			if column+utf8.RuneCountInString(space) <= width {
				b.WriteString(space)
			}
			b.WriteByte('\n')
			column, space, text = 0, "", text[1:]
		case blank(r):
			space, text = space+text[:size], text[size:]
		default:
			end := strings.IndexFunc(text, func(r rune) bool { return r == '\n' || blank(r) })
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

// blank reports whether a line may be broken at a rune.
func blank(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' }
