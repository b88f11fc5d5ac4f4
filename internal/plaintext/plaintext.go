// Package plaintext removes from texts what would control a terminal.
package plaintext

import (
	"strings"
	"unicode"
)

// Printable replaces control characters but newlines and tabs. Manifests, logs, events and messages
// of servers must not control the terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
