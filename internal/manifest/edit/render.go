package edit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
	if text, _ := want.(string); strings.ContainsAny(text, otherBreaks+"\r") {
		n.Style = yaml.DoubleQuotedStyle
	}
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

// render returns the text of a node, without a newline at the end.
func (e *editor) render(n *yaml.Node) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	_ = encoder.Encode(n) // to memory
	return strings.TrimSuffix(b.String(), "\n")
}

// inlineText returns the text of a node on one line. Within brackets more texts need quotes.
func (e *editor) inlineText(n *yaml.Node) string {
	if e.json {
		return jsonText(n)
	}
	n = inlined(n)
	if !e.brackets {
		return e.render(n)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{n}}
	text := e.render(list)
	return text[1 : len(text)-1]
}

// jsonText returns the text of a node as JSON on one line.
func jsonText(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			parts = append(parts, jsonValue(n.Content[i].Value)+": "+jsonText(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, jsonText(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	value, _ := valueOf(n) // it was written by this package, or read before
	return jsonValue(value)
}

// jsonValue returns the text of a value as JSON, without characters that end lines in YAML.
func jsonValue(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // to memory
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u0085", `\u0085`)
}

// inlined returns a copy of a node that has one line: lists and maps in brackets, without comments.
func inlined(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case strings.Contains(n.Value, "\n"):
		c.Style = yaml.DoubleQuotedStyle
	}
	c.Content = nil
	for _, inner := range n.Content {
		c.Content = append(c.Content, inlined(inner))
	}
	return &c
}

// entry returns the text of an entry of a map, with a newline at the end.
func (e *editor) entry(key string, value *yaml.Node) string {
	return e.render(&yaml.Node{Kind: yaml.MappingNode,
		Content: []*yaml.Node{merged(nil, key), value}}) + "\n"
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
