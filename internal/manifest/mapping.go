package manifest

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mapping returns the entries of a map; its own take precedence over merged ones.
func (d *document) mapping(n *yaml.Node) any {
	entries := make(map[string]any, len(n.Content)/2)
	var merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			if merged != nil {
				d.duplicate(n, i)
			}
			merged = value
			continue
		}
		name, ok := d.key(key)
		if !ok || !d.countExpanded(key) {
			continue
		}
		if _, ok := entries[name]; ok && !d.options.YAML11 {
			d.duplicate(n, i)
			continue
		}
		entries[d.expansion.keyOf(name)] = d.value(value)
	}
	if merged != nil {
		d.merge(entries, merged)
	}
	return entries
}

// isMerge reports whether a key is the merge key << of YAML 1.1.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge"
}

// key returns a map key, which in JSON is always a string. Integers, numbers and booleans in their
// normal form are taken as their text, with a warning.
func (d *document) key(n *yaml.Node) (string, bool) {
	scalar := n
	if n.Kind == yaml.AliasNode {
		scalar = n.Alias
	}
	if scalar.Kind != yaml.ScalarNode {
		d.failAt(n.Line, "a map key must be a string, got non-scalar; "+
			"is this a template that has not been rendered?")
		return "", false
	}
	word := ""
	switch scalar.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		if strings.HasPrefix(scalar.Value, byteOrderMark) {
			d.failAt(n.Line, "a byte order mark is before the key; remove it, or put --- between documents")
			return "", false
		}
		return scalar.Value, true
	case "!!null":
		word = "null"
	case "!!bool":
		word = "boolean"
	case "!!int":
		word = "integer"
	case "!!float":
		word = "number"
	default:
		d.unknownTag(scalar)
		return "", false
	}
	if isNormalKey(scalar) {
		d.warnAt(n.Line, "map key %s (%s) is read as a string; put it in quotes", scalar.Value, word)
		return scalar.Value, true
	}
	d.failAt(n.Line, "map key %q must be a string, got %s; put it in quotes", scalar.Value, word)
	return "", false
}

// isNormalKey reports whether every reader of YAML writes a key that is no string in the same way:
// 8443, true or 1.5, but not 0644, 1e3, True or null.
func isNormalKey(n *yaml.Node) bool {
	var value any
	if err := n.Decode(&value); err != nil || value == nil {
		return false
	}
	text, err := json.Marshal(value)
	return err == nil && string(text) == n.Value
}

// duplicate reports that the key at an index repeats an earlier one. It searches the keys only
// then, so that parsing stays linear.
func (d *document) duplicate(n *yaml.Node, at int) {
	if d.omit() {
		return
	}
	key := n.Content[at]
	for i := 0; i < at; i += 2 {
		if keyText(n.Content[i]) == keyText(key) {
			d.failAt(key.Line, "key %q is already on line %d; remove one of them", keyText(key),
				d.start+n.Content[i].Line)
			return
		}
	}
}

// keyText returns the text of a scalar or of an alias to one.
func keyText(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return n.Alias.Value
	}
	return n.Value
}

// merge adds the entries of a map, or of a list of maps of which the first wins, unless entries has
// them.
func (d *document) merge(entries map[string]any, n *yaml.Node) {
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for _, source := range sources {
		value := d.value(source)
		if d.expansion.exceeded {
			return
		}
		more, ok := value.(map[string]any)
		if !ok {
			d.failAt(source.Line, "the merge key << takes a map or a list of maps")
		}
		for name, value := range more {
			if _, ok := entries[name]; !ok {
				entries[name] = value
			}
		}
	}
}
