package edit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// brackets are the entries of a map or the items of a list in brackets, and what becomes of them.
type brackets struct {
	entries []bracketEntry
	added   [][]string // texts of new entries, by the index of the one that they come before
}

// bracketEntry is an entry of a map or an item of a list in brackets.
type bracketEntry struct {
	from, to int // its place in the text
	stays    bool
}

// flowMapping changes the entries of a map in brackets.
func (e *editor) flowMapping(n *yaml.Node, want map[string]any) bool {
	defer e.inBrackets()()
	missing := maps.Clone(want)
	b := brackets{added: make([][]string, len(n.Content)/2+1)}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		to, ok := e.inlineEnd(value, e.offset(value))
		wanted, stays := want[key.Value]
		if !ok || key.Tag == "!!merge" || stays && !e.changeEntry(n, i, wanted) {
			return false
		}
		b.entries = append(b.entries, bracketEntry{e.offset(key), to, stays})
		delete(missing, key.Value)
	}
	last := len(b.entries)
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		text := e.inlineText(merged(nil, key)) + ": " + e.newText(b, missing[key])
		b.added[last] = append(b.added[last], text)
	}
	return e.rewrite(b)
}

// flowSequence changes the items of a list in brackets.
func (e *editor) flowSequence(n *yaml.Node, want []any) bool {
	defer e.inBrackets()()
	if len(want) == len(n.Content) {
		return e.items(n.Content, want)
	}
	b := brackets{added: make([][]string, len(n.Content)+1)}
	for _, item := range n.Content {
		from := e.offset(item)
		to, ok := e.inlineEnd(item, from)
		if !ok {
			return false
		}
		b.entries = append(b.entries, bracketEntry{from, to, false})
	}
	for _, p := range align(n, want) {
		for _, value := range want[p.new-p.added : p.new] {
			b.added[p.old] = append(b.added[p.old], e.newText(b, value))
		}
		if p.old < len(n.Content) {
			b.entries[p.old].stays = true
			if !e.value(n.Content[p.old], want[p.new]) {
				return false
			}
		}
	}
	return e.rewrite(b)
}

// inBrackets makes texts valid within brackets until the returned function is called.
func (e *editor) inBrackets() func() {
	before := e.brackets
	e.brackets = true
	return func() { e.brackets = before }
}

// rewrite removes and adds entries. It reports whether one stays, and the others have commas.
func (e *editor) rewrite(b brackets) bool {
	last := -1
	for i, entry := range b.entries {
		if entry.stays {
			last = i
		}
	}
	if last < 0 {
		return false
	}
	for i, entry := range b.entries[:last+1] {
		for _, text := range b.added[i] {
			e.add(entry.from, entry.from, text+","+e.gap(entry))
		}
		if !entry.stays {
			e.add(entry.from, b.entries[i+1].from, "")
		}
	}
	stays, end := b.entries[last], b.entries[len(b.entries)-1].to
	if end > stays.to {
		e.add(stays.to, end, "")
	}
	for _, text := range slices.Concat(b.added[last+1:]...) {
		e.add(stays.to, stays.to, ","+e.gap(stays)+text)
	}
	return true
}

// gap returns the white space before an entry: a newline with the spaces after it if the entry
// begins a line, else one space.
func (e *editor) gap(entry bracketEntry) string {
	begin := bytes.LastIndexByte(e.text[:entry.from], '\n')
	indent := string(e.text[begin+1 : entry.from])
	if begin >= 0 && strings.Trim(indent, " \t") == "" {
		return "\n" + indent
	}
	return " "
}

// newText returns the text of a new value among other entries: in JSON that has a line for each
// entry it gets such lines too.
func (e *editor) newText(b brackets, value any) string {
	text := e.inlineText(merged(nil, value))
	prefix, lines := "", false
	if len(b.entries) > 0 {
		prefix, lines = strings.CutPrefix(e.gap(b.entries[0]), "\n")
	}
	if !e.json || !lines {
		return text
	}
	unit := "  "
	if len(e.lines) > 1 {
		first := e.lineAt(2)
		unit = string(first[:len(first)-len(bytes.TrimLeft(first, " \t"))])
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), prefix, unit) != nil {
		return text
	}
	return out.String()
}
