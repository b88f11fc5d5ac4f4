package edit

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/manifest"
)

// value replaces the value of a node. It reports whether that is possible without the key or the
// dash before the node.
func (e *editor) value(n *yaml.Node, want any) bool {
	if equal(n, want) {
		return true
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return false
	}
	flow := n.Style&yaml.FlowStyle != 0
	switch wanted := want.(type) {
	case map[string]any:
		switch {
		case n.Kind != yaml.MappingNode || len(wanted) == 0:
		case !flow:
			return e.mapping(n, wanted)
		case e.try(func() bool { return e.flowMapping(n, wanted) }):
			return true
		}
	case []any:
		switch {
		case n.Kind != yaml.SequenceNode || len(wanted) == 0:
		case !flow:
			return e.sequence(n, wanted)
		case e.try(func() bool { return e.flowSequence(n, wanted) }):
			return true
		}
	}
	from := e.offset(n)
	to, ok := e.inlineEnd(n, from)
	text := e.inlineText(merged(n, want))
	if !ok || strings.Contains(text, "\n") {
		return false
	}
	e.add(from, to, text)
	return true
}

// try changes something, or nothing if that is not possible.
func (e *editor) try(change func() bool) bool {
	before := len(e.edits)
	ok := change()
	if !ok {
		e.edits = e.edits[:before]
	}
	return ok
}

// equal reports whether a node has a value.
func equal(n *yaml.Node, want any) bool {
	have, ok := valueOf(n)
	return ok && jsonvalue.Equal(have, want)
}

// valueOf returns the value of a node, as package manifest reads it.
func valueOf(n *yaml.Node) (value any, ok bool) {
	value, err := manifest.Value(n)
	return value, err == nil
}

// items replaces the values of the items of a list, one by one.
func (e *editor) items(nodes []*yaml.Node, want []any) bool {
	for i, n := range nodes {
		if !e.value(n, want[i]) {
			return false
		}
	}
	return true
}

// mapping changes the entries of a map.
func (e *editor) mapping(n *yaml.Node, want map[string]any) bool {
	missing := maps.Clone(want)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		wanted, ok := want[key.Value]
		delete(missing, key.Value)
		switch {
		case key.Tag == "!!merge":
			return false
		case !ok && !e.removeEntry(n, i):
			return false
		case ok && !e.changeEntry(n, i, wanted):
			return false
		}
	}
	if len(missing) == 0 {
		return true
	}
	last := n.Content[len(n.Content)-2]
	column := n.Content[0].Column - 1
	at := e.blockEnd(last.Line, column, n.Content[len(n.Content)-1].Kind == yaml.SequenceNode)
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		e.insert(at, indent(e.entry(key, merged(nil, missing[key])), column))
	}
	return true
}

// changeEntry replaces the value of an entry of a map: in its place or, if that is not possible,
// together with the key. A text of several lines is written as such.
func (e *editor) changeEntry(n *yaml.Node, i int, want any) bool {
	key, value := n.Content[i], n.Content[i+1]
	e.keys = append(e.keys, key.Line)
	defer func() { e.keys = e.keys[:len(e.keys)-1] }()
	text, _ := want.(string)
	inline := n.Style&yaml.FlowStyle != 0
	if (inline || !strings.Contains(text, "\n") || equal(value, want)) &&
		e.try(func() bool { return e.value(value, want) }) {
		return true
	}
	if value.Kind == yaml.AliasNode || value.Anchor != "" || inline {
		return false
	}
	from := e.offset(key)
	to := e.blockEnd(key.Line, key.Column-1, value.Kind == yaml.SequenceNode)
	entry := e.entry(key.Value, merged(value, want))
	e.add(from, to, strings.TrimLeft(indent(entry, key.Column-1), " "))
	return true
}

// removeEntry removes an entry of a block map that has others.
func (e *editor) removeEntry(n *yaml.Node, i int) bool {
	key, value := n.Content[i], n.Content[i+1]
	start := e.lines[key.Line-1]
	if blank := bytes.TrimLeft(e.text[start:e.offset(key)], " "); len(blank) == 0 {
		e.add(e.commentStart(key), e.blockEnd(key.Line, key.Column-1,
			value.Kind == yaml.SequenceNode), "")
		return true
	}
	if i+2 >= len(n.Content) { // it is the only one in its line, behind a dash
		return false
	}
	e.add(e.offset(key), e.offset(n.Content[i+2]), "")
	return true
}

// sequence changes the items of a block list: what stays keeps its place and its comments.
func (e *editor) sequence(n *yaml.Node, want []any) bool {
	pairs := align(n, want)
	if len(n.Content) == len(want) && !slices.ContainsFunc(pairs, pair.moves) {
		return e.items(n.Content, want)
	}
	column := n.Column - 1
	if !e.isDash(n.Line, column) {
		return false
	}
	at := e.lines[e.firstComment(n.Line)-1]
	done := 0 // of the items of n
	for _, p := range pairs {
		for _, item := range n.Content[done:p.old] {
			if !e.isDash(item.Line, column) {
				return false
			}
			e.add(e.commentStart(item), e.blockEnd(item.Line, column, false), "")
		}
		for _, value := range want[p.new-p.added : p.new] {
			list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{merged(nil, value)}}
			e.insert(at, indent(e.render(list)+"\n", column))
		}
		if p.old == len(n.Content) {
			break
		}
		if !e.value(n.Content[p.old], want[p.new]) {
			return false
		}
		done = p.old + 1
		at = e.blockEnd(n.Content[p.old].Line, column, false)
	}
	return true
}

// firstComment returns the first line of the comment directly above a line, or the line.
func (e *editor) firstComment(line int) int {
	for line > 1 {
		above := bytes.TrimSpace(e.text[e.lines[line-2]:e.lines[line-1]])
		if len(above) == 0 || above[0] != '#' {
			break
		}
		line--
	}
	return line
}

// isDash reports whether a line has nothing but a dash at a column and spaces before it.
func (e *editor) isDash(line, column int) bool {
	text := e.text[e.lines[line-1]:]
	return len(text) > column && text[column] == '-' &&
		len(bytes.TrimLeft(text[:column], " ")) == 0
}

// insert adds lines at the beginning of a line.
func (e *editor) insert(at int, text string) {
	if at > 0 && e.text[at-1] != '\n' { // at the end of a file without a last newline
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	e.add(at, at, text)
}
