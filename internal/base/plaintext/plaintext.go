// Package plaintext removes from texts what would control a terminal, and private values.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces control characters, line separators and what changes the direction of text,
// but newlines and tabs. Manifests, logs, events and messages of servers must not control the
// terminal, nor show something else than they are.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if controls(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// controls reports whether a character says how others are shown.
func controls(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Bytes at the beginning and at the end of a text that Line keeps.
const (
	lineHead = 500
	lineTail = 200
)

// Line returns a text as one line: control characters, line separators, what changes the
// direction of text and what is no text are replaced, and the middle of a long text is left out.
func Line(text string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	text = withoutMiddle(text, lineHead, lineTail)
	return strings.Map(func(r rune) rune {
		if controls(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// withoutMiddle returns a text of valid UTF-8 without its middle if it is longer than the bytes of
// its beginning and of its end that are kept.
func withoutMiddle(text string, head, tail int) string {
	end := len(text) - tail
	if head >= end {
		return text
	}
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[end]) {
		end++
	}
	return text[:head] + " … " + text[end:]
}
