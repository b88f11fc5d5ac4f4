package diff

import (
	"maps"
	"slices"
	"strconv"
)

// comparison walks two values at once and collects what differs. path is where the walk stands.
type comparison struct {
	path []byte
	diff Diff
}

func (c *comparison) add(kind Kind, old, new any) {
	c.diff = append(c.diff, FieldChange{Path: string(c.path), Kind: kind, Old: old, New: new})
}

// at runs a step of the walk one segment deeper.
func (c *comparison) at(segment string, step func()) {
	depth := len(c.path)
	c.path = append(c.path, segment...)
	step()
	c.path = c.path[:depth]
}

// values compares two values that are both there.
func (c *comparison) values(have, want any) {
	if equal(have, want) {
		return
	}
	switch h := have.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			c.maps(h, w)
			return
		}
	case []any:
		if w, ok := want.([]any); ok {
			c.lists(h, w)
			return
		}
	}
	c.add(Changed, have, want)
}

// optional compares two values of which each may be absent, that is nil.
func (c *comparison) optional(have, want any) {
	switch {
	case have == nil && want == nil:
	case have == nil:
		c.add(Added, nil, want)
	case want == nil:
		c.add(Removed, have, nil)
	default:
		c.values(have, want)
	}
}

func (c *comparison) maps(have, want map[string]any) {
	keys := make([]string, 0, len(have)+len(want))
	keys = slices.AppendSeq(keys, maps.Keys(have))
	keys = slices.AppendSeq(keys, maps.Keys(want))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		c.at(keySegment(key), func() { c.optional(have[key], want[key]) })
	}
}

func (c *comparison) lists(have, want []any) {
	for _, field := range []string{"name", "key"} {
		old, ok := index(have, field)
		if !ok {
			continue
		}
		if items, ok := index(want, field); ok {
			c.named(field, old, items)
			return
		}
	}
	for i := range max(len(have), len(want)) {
		c.at("["+strconv.Itoa(i)+"]", func() { c.item(have, want, i) })
	}
}

func (c *comparison) item(have, want []any, i int) {
	switch {
	case i >= len(have):
		c.add(Added, nil, want[i])
	case i >= len(want):
		c.add(Removed, have[i], nil)
	default:
		c.values(have[i], want[i])
	}
}

// named compares lists whose items are told apart by a field. Items that both have but in another order are one change more.
func (c *comparison) named(field string, have, want indexed) {
	for _, name := range have.names {
		c.at(itemSegment(field, name), func() { c.optional(have.items[name], want.items[name]) })
	}
	for _, name := range want.names {
		if _, ok := have.items[name]; !ok {
			c.at(itemSegment(field, name), func() { c.add(Added, nil, want.items[name]) })
		}
	}
	before, after := have.shared(want), want.shared(have)
	if !slices.Equal(before, after) {
		c.at("[*]."+field, func() { c.add(Changed, before, after) })
	}
}

// indexed is a list of maps told apart by a field.
type indexed struct {
	names []string
	items map[string]any
}

// index arranges a list by a field of its items; ok is false unless all of them are maps with a distinct string there.
func index(list []any, field string) (out indexed, ok bool) {
	out.items = make(map[string]any, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, ok := fields[field].(string)
		if !ok || out.items[name] != nil {
			return indexed{}, false
		}
		out.names = append(out.names, name)
		out.items[name] = item
	}
	return out, true
}

// shared gives the names that the other list has as well, in the order of this one, as a JSON list.
func (x indexed) shared(other indexed) []any {
	var names []any
	for _, name := range x.names {
		if _, ok := other.items[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

func keySegment(key string) string {
	if isWord(key, "") {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}

func itemSegment(field, name string) string {
	if !isWord(name, "./:") {
		name = strconv.Quote(name)
	}
	return "[" + field + "=" + name + "]"
}

// isWord reports whether a text is made of ASCII letters, digits, underscores, hyphens and the extra characters, and has any.
func isWord(s, extra string) bool {
	for i := range len(s) {
		b := s[i]
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '_', b == '-':
		case !slices.Contains([]byte(extra), b):
			return false
		}
	}
	return s != ""
}
