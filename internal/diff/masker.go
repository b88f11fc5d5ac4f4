package diff

import (
	"slices"
	"strings"
)

// Masker hides texts in others. Its memory is in proportion to the number of the texts, whereas
// that of a strings.Replacer is many times their length.
type Masker struct {
	texts  []string  // sorted, each once
	outer  []int     // for each text the longest other one that it begins with, or -1
	begins [256]bool // the first bytes of the texts
}

// newMasker returns a masker of texts, none of which is empty.
func newMasker(texts []string) *Masker {
	slices.Sort(texts)
	m := &Masker{texts: slices.Compact(texts)}
	m.outer = make([]int, len(m.texts))
	for i, text := range m.texts {
		m.begins[text[0]] = true
		at := i - 1
		for at >= 0 && !strings.HasPrefix(text, m.texts[at]) {
			at = m.outer[at]
		}
		m.outer[i] = at
	}
	return m
}

// Replace returns a text with asterisks in place of the texts that the masker hides: of several
// that begin at one place, the longest.
func (m *Masker) Replace(text string) string {
	var out strings.Builder
	kept := 0
	for at := 0; at < len(text); {
		length := m.lengthAt(text[at:])
		if length == 0 {
			at++
			continue
		}
		out.WriteString(text[kept:at])
		out.WriteString(masked)
		at += length
		kept = at
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// lengthAt returns the length of the longest hidden text that a text begins with, 0 if there is
// none: it is the last one in order that is not behind the text, or one that this begins with.
func (m *Masker) lengthAt(text string) int {
	if !m.begins[text[0]] {
		return 0
	}
	at, found := slices.BinarySearch(m.texts, text)
	if found {
		return len(text)
	}
	for at--; at >= 0; at = m.outer[at] {
		if strings.HasPrefix(text, m.texts[at]) {
			return len(m.texts[at])
		}
	}
	return 0
}
