package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// A run of more than maxRun added or removed lines is folded: shownOfRun of them are printed.
const maxRun, shownOfRun = 24, 12

// difference prints a unified diff, indented.
func (p *printer) difference(text string) {
	var lines []string
	for line := range strings.Lines(text) {
		if line = plaintext.Printable(strings.TrimSuffix(line, "\n")); line != "" {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 {
		n := lengthOfRun(lines)
		removed, rest := lines[:n], lines[n:]
		if removed[0][0] != '-' || len(rest) == 0 || rest[0][0] != '+' {
			p.run(removed, nil)
			lines = rest
			continue
		}
		n = lengthOfRun(rest)
		added := rest[:n]
		pairs := pairLines(removed, added)
		p.run(removed, func(i int) string { return partner(pairs[i], added) })
		p.run(added, func(i int) string { return partner(slices.Index(pairs, i), removed) })
		lines = rest[n:]
	}
}

// partner returns the line with an index; empty for -1.
func partner(i int, lines []string) string {
	if i < 0 {
		return ""
	}
	return lines[i]
}

// lengthOfRun returns how many lines begin with the sign of the first.
func lengthOfRun(lines []string) int {
	n := slices.IndexFunc(lines, func(line string) bool { return line[0] != lines[0][0] })
	if n < 0 {
		return len(lines)
	}
	return n
}

// run prints lines of one sign, folded if they are many. Other returns the line on the other side
// that a line replaces, or is replaced by; empty if there is none.
func (p *printer) run(lines []string, other func(int) string) {
	sign, shown := lines[0][0], len(lines)
	if shown > maxRun && (sign == '+' || sign == '-') && !p.options.Full {
		shown = shownOfRun
	}
	for i, line := range lines[:shown] {
		if other == nil || other(i) == "" {
			p.line(indent, sign, line)
			continue
		}
		p.text.WriteString(indent + p.emphasized(line, other(i)) + "\n")
	}
	if rest := len(lines) - shown; rest > 0 {
		p.line(indent, sign, fmt.Sprintf("%c... %d lines%s", sign, rest, p.hint()))
	}
}

// pairLines returns for each removed line the index of the added line that replaces it: the next
// one with the same key, or in lists of values the one at the same place. -1 is none.
func pairLines(removed, added []string) []int {
	pairs, next := make([]int, len(removed)), 0
	for i, line := range removed {
		pairs[i] = -1
		key, keyed := keyOf(line)
		if !keyed && len(removed) != len(added) {
			continue
		}
		for j := next; j < len(added); j++ {
			if other, _ := keyOf(added[j]); other == key && (keyed || i == j) {
				pairs[i], next = j, j+1
				break
			}
		}
	}
	return pairs
}

// keyOf returns the key of a line of YAML with its indentation; of a line without one only its
// indentation.
func keyOf(line string) (key string, ok bool) {
	content := strings.TrimLeft(line[1:], " -")
	place := strings.Repeat(" ", len(line)-len(content)) // the first key of an item follows a hyphen
	if i := strings.Index(content, ": "); i >= 0 {
		return place + content[:i], true
	}
	return place, false
}
