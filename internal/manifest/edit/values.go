package edit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
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
		if n.Kind == yaml.MappingNode && len(wanted) > 0 && (!flow || sameKeys(n, wanted)) {
			return e.mapping(n, wanted)
		}
	case []any:
		switch {
		case n.Kind != yaml.SequenceNode || len(wanted) == 0:
		case len(wanted) == len(n.Content):
			return e.items(n.Content, wanted)
		case !flow:
			return e.sequence(n, wanted)
		}
	}
	from := e.offset(n)
	to, ok := e.inlineEnd(n, from)
	text := e.render(merged(n, want), true)
	if !ok || strings.Contains(text, "\n") {
		return false
	}
	e.add(from, to, text)
	return true
}

// equal reports whether a node has a value.
func equal(n *yaml.Node, want any) bool {
	have, ok := valueOf(n)
	return ok && jsonvalue.Equal(have, want)
}

// valueOf returns the value of a node, as package unstructured holds it.
func valueOf(n *yaml.Node) (value any, ok bool) {
	var decoded any
	if n.Decode(&decoded) != nil {
		return nil, false
	}
	data, err := json.Marshal(decoded)
	if err != nil {
		return nil, false
	}
	err = utiljson.Unmarshal(data, &value)
	return value, err == nil
}

func sameKeys(n *yaml.Node, want map[string]any) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if _, ok := want[n.Content[i].Value]; !ok {
			return false
		}
	}
	return len(n.Content) == 2*len(want)
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
	before := len(e.edits)
	text, _ := want.(string)
	inline := n.Style&yaml.FlowStyle != 0 || e.json
	if (inline || !strings.Contains(text, "\n") || equal(value, want)) && e.value(value, want) {
		return true
	}
	e.edits = e.edits[:before]
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
	column := n.Column - 1
	if !e.isDash(n.Line, column) {
		return false
	}
	at := e.lines[e.firstComment(n.Line)-1]
	done := 0 // of the items of n
	for _, p := range align(n, want) {
		for _, item := range n.Content[done:p.old] {
			if !e.isDash(item.Line, column) {
				return false
			}
			e.add(e.commentStart(item), e.blockEnd(item.Line, column, false), "")
		}
		for _, value := range want[p.new-p.added : p.new] {
			list := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{merged(nil, value)}}
			e.insert(at, indent(e.render(list, false)+"\n", column))
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

// merged returns a node with a value. What it has in common with the old node, which may be nil,
// keeps its order, comments and quotes.
func merged(old *yaml.Node, want any) *yaml.Node {
	if old != nil && equal(old, want) {
		return old
	}
	switch wanted := want.(type) {
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		rest := maps.Clone(wanted)
		if old != nil && old.Kind == yaml.MappingNode {
			n.Style = old.Style
			for i := 0; i < len(old.Content); i += 2 {
				key := old.Content[i]
				if value, ok := wanted[key.Value]; ok {
					n.Content = append(n.Content, key, merged(old.Content[i+1], value))
					delete(rest, key.Value)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(rest)) {
			n.Content = append(n.Content, merged(nil, key), merged(nil, rest[key]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i, value := range wanted {
			var before *yaml.Node
			if old != nil && old.Kind == yaml.SequenceNode {
				before = itemFor(old.Content, i, value, len(wanted))
			}
			n.Content = append(n.Content, merged(before, value))
		}
		return n
	}
	n := &yaml.Node{}
	_ = n.Encode(want) // a value of JSON can be encoded
	if old != nil && old.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Style == 0 {
		n.Style = old.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
	}
	return n
}

// itemFor returns the item of a list that becomes an item of another one with some length: an equal
// one, or that in its place; nil for none.
func itemFor(items []*yaml.Node, place int, want any, length int) *yaml.Node {
	for _, item := range items {
		if equal(item, want) {
			return item
		}
	}
	if len(items) == length {
		return items[place]
	}
	return nil
}

// render returns the text of a node, without a newline at the end: on one line if it has to be.
func (e *editor) render(n *yaml.Node, inline bool) string {
	if inline {
		n = e.inlined(n)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	_ = encoder.Encode(n) // to memory
	return strings.TrimSuffix(b.String(), "\n")
}

// inlined returns a copy of a node that has one line: lists and maps in brackets, without comments.
func (e *editor) inlined(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case strings.Contains(n.Value, "\n"), e.json && n.Tag == "!!str":
		c.Style = yaml.DoubleQuotedStyle
	}
	c.Content = nil
	for _, inner := range n.Content {
		c.Content = append(c.Content, e.inlined(inner))
	}
	return &c
}

// entry returns the text of an entry of a map, with a newline at the end.
func (e *editor) entry(key string, value *yaml.Node) string {
	return e.render(&yaml.Node{Kind: yaml.MappingNode,
		Content: []*yaml.Node{merged(nil, key), value}}, false) + "\n"
}

// indent returns a text whose lines begin with more spaces.
func indent(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(strings.Repeat(" ", columns))
		}
		b.WriteString(line)
	}
	return b.String()
}

// insert adds lines at the beginning of a line.
func (e *editor) insert(at int, text string) {
	if at > 0 && e.text[at-1] != '\n' { // at the end of a file without a last newline
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	e.add(at, at, text)
}

// offset returns where a node begins in the text.
func (e *editor) offset(n *yaml.Node) int {
	pos := e.lines[n.Line-1]
	for range n.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(e.text[pos:])
		pos += size
	}
	return pos
}

// inlineEnd returns where a scalar on one line, or a map or list in brackets, ends.
func (e *editor) inlineEnd(n *yaml.Node, from int) (end int, ok bool) {
	text := e.text[from:]
	switch {
	case n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0:
		end = closing(text)
	case n.Kind != yaml.ScalarNode:
		return 0, false
	case n.Style&yaml.DoubleQuotedStyle != 0, n.Style&yaml.SingleQuotedStyle != 0:
		end = quoted(text)
	case n.Style == 0 && n.Value != "" && bytes.HasPrefix(text, []byte(n.Value)):
		end = len(n.Value)
	}
	return from + end, end > 0
}

// quoted returns the length of the quoted scalar at the beginning of a text.
func quoted(text []byte) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// closing returns the length of the map or list in brackets at the beginning of a text; 0 if it has
// comments.
func closing(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case (c == '"' || c == '\'') && bytes.IndexByte([]byte(" \n{[,:"), text[i-1]) >= 0:
			n := quoted(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case c == '#' && bytes.IndexByte([]byte(" \n\t"), text[i-1]) >= 0:
			return 0
		}
	}
	return 0
}

// blockEnd returns where the lines end that belong to an entry or an item at a line and a column:
// those that begin further right and, below the key of a list, its dashes.
func (e *editor) blockEnd(line, column int, dashes bool) int {
	end := line
	for next := line; next < len(e.lines); next++ {
		text := e.text[e.lines[next]:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[:i]
		}
		content := bytes.TrimLeft(text, " ")
		at := len(text) - len(content)
		content = bytes.TrimSpace(content)
		isDash := dashes && at == column && (bytes.HasPrefix(content, []byte("- ")) ||
			len(content) == 1 && content[0] == '-')
		switch {
		case len(content) == 0 || content[0] == '#' && at <= column: // it belongs to what follows
		case at > column || isDash:
			end = next + 1
		default:
			next = len(e.lines)
		}
	}
	if end >= len(e.lines) {
		return len(e.text)
	}
	return e.lines[end]
}

// commentStart returns where the line of a node begins, or the comment above it that belongs to it.
func (e *editor) commentStart(n *yaml.Node) int {
	line := n.Line - 1
	for comments := strings.Count(n.HeadComment, "\n") + 1; n.HeadComment != "" && comments > 0 &&
		line > 0; comments-- {
		above := bytes.TrimSpace(e.text[e.lines[line-1]:e.lines[line]])
		if len(above) == 0 || above[0] != '#' {
			break
		}
		line--
	}
	return e.lines[line]
}
