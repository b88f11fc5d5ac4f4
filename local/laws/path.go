package laws

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Path is the path of a value in an object: names of fields, and indexes of lists.
type Path []any

// ParsePath reads a path as API servers print it: spec.ports[0].name or data[key].
func ParsePath(text string) Path {
	var p Path
	for text != "" {
		end := strings.IndexAny(text, ".[")
		switch {
		case text[0] == '[':
			inner, rest, _ := strings.Cut(text[1:], "]")
			if n, err := strconv.Atoi(inner); err == nil {
				p = append(p, n)
			} else {
				p = append(p, inner)
			}
			text = strings.TrimPrefix(rest, ".")
		case end < 0:
			return append(p, text)
		default:
			p = append(p, text[:end])
			text = strings.TrimPrefix(text[end:], ".")
		}
	}
	return p
}

// String returns the path as API servers print it.
func (p Path) String() string {
	var text strings.Builder
	for _, name := range p {
		switch name := name.(type) {
		case int:
			fmt.Fprintf(&text, "[%d]", name)
		case string:
			if strings.ContainsAny(name, "./") {
				fmt.Fprintf(&text, "[%s]", name)
			} else {
				text.WriteString("." + name)
			}
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// Begins reports whether the path begins with another one.
func (p Path) Begins(other Path) bool {
	return len(other) <= len(p) && slices.Equal(p[:len(other)], other)
}

// with returns a longer path.
func (p Path) with(name any) Path { return append(slices.Clone(p), name) }

// Get returns a value, or nil.
func (p Path) Get(value any) any {
	for _, name := range p {
		switch at := value.(type) {
		case map[string]any:
			field, _ := name.(string)
			value = at[field]
		case []any:
			i, ok := name.(int)
			if !ok || i >= len(at) {
				return nil
			}
			value = at[i]
		default:
			return nil
		}
	}
	return value
}

// Set sets a value, or removes it if it is nil. What holds it must be there.
func (p Path) Set(root map[string]any, value any) {
	last := len(p) - 1
	switch at := p[:last].Get(root).(type) {
	case map[string]any:
		if field, ok := p[last].(string); ok && value != nil {
			at[field] = value
		} else if ok {
			delete(at, field)
		}
	case []any:
		i, ok := p[last].(int)
		switch {
		case !ok || i > len(at):
		case value == nil && i < len(at):
			p[:last].Set(root, slices.Delete(slices.Clone(at), i, i+1))
		case i == len(at):
			p[:last].Set(root, append(slices.Clone(at), value))
		default:
			at[i] = value
		}
	}
}

// walk calls visit for every value below a value, and the value itself.
func walk(value any, path Path, visit func(Path, any)) {
	visit(path, value)
	switch at := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(at)) {
			walk(at[name], path.with(name), visit)
		}
	case []any:
		for i, item := range at {
			walk(item, path.with(i), visit)
		}
	}
}

// Walk calls visit for every value of an object, but not for the object itself.
func Walk(obj map[string]any, visit func(Path, any)) {
	walk(obj, nil, func(path Path, value any) {
		if len(path) > 0 {
			visit(path, value)
		}
	})
}
