package ytt

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// nodes are YAML that a template made: documents, the items of a map in their order, or those of an array. Unlike plain data,
// they know the directives that say how they are laid over something else.
type nodes struct {
	kind  kind // stream, mapping or sequence
	items []*item
}

// item is one of them.
type item struct {
	key   string // in a map
	line  int
	notes []note
	value any // plain, or *nodes
}

// note is a directive of an item, with its arguments.
type note struct {
	name string
	line int
	args map[string]starlark.Value
}

func (it *item) note(name string) (note, bool) {
	for _, n := range it.notes {
		if n.name == name {
			return n, true
		}
	}
	return note{}, false
}

// noted reports whether there is a directive anywhere in it.
func noted(value any) bool {
	n, ok := value.(*nodes)
	return ok && slices.ContainsFunc(n.items, func(it *item) bool { return len(it.notes) > 0 || noted(it.value) })
}

// plain is data without directives: copies, so that nothing is shared.
func plain(value any) any {
	switch v := value.(type) {
	case *nodes:
		if v.kind == mapping {
			out := make(map[string]any, len(v.items))
			for _, it := range v.items {
				out[it.key] = plain(it.value)
			}
			return out
		}
		out := make([]any, 0, len(v.items))
		for _, it := range v.items {
			out = append(out, plain(it.value))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, in := range v {
			out[key] = plain(in)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, in := range v {
			out = append(out, plain(in))
		}
		return out
	}
	return value
}

// nodesOf makes nodes of data, which it copies; items that were not written in the template get the line. What is no map or
// list stays what it is.
func nodesOf(value any, line int) any {
	switch v := value.(type) {
	case *nodes:
		out := &nodes{kind: v.kind}
		for _, it := range v.items {
			at := it.line
			if at == 0 {
				at = line
			}
			out.items = append(out.items, &item{key: it.key, line: at, notes: it.notes, value: nodesOf(it.value, at)})
		}
		return out
	case map[string]any:
		out := &nodes{kind: mapping}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out.items = append(out.items, &item{key: key, line: line, value: nodesOf(v[key], line)})
		}
		return out
	case []any:
		out := &nodes{kind: sequence}
		for _, in := range v {
			out.items = append(out.items, &item{line: line, value: nodesOf(in, line)})
		}
		return out
	}
	return value
}

// clone copies data, with numbers as int64 and float64 alone.
func clone(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string, int64, float64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, in := range v {
			copied, err := clone(in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			out[key] = copied
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for i, in := range v {
			copied, err := clone(in)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			out = append(out, copied)
		}
		return out, nil
	}
	return nil, fmt.Errorf("a value of the type %T has no place in an object", value)
}
