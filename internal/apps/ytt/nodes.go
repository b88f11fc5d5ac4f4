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
	annotations []annotation
	value any // plain, or *nodes
}

// annotation is a directive of an item, with its arguments.
type annotation struct {
	name string
	line int
	args map[string]starlark.Value
}

func (it *item) findAnnotation(name string) (annotation, bool) {
	for _, n := range it.annotations {
		if n.name == name {
			return n, true
		}
	}
	return annotation{}, false
}

// hasAnnotations reports whether there is a directive anywhere in it.
func hasAnnotations(value any) bool {
	n, ok := value.(*nodes)
	return ok && slices.ContainsFunc(n.items, func(it *item) bool { return len(it.annotations) > 0 || hasAnnotations(it.value) })
}

// plainData is data without directives: copies, so that nothing is shared.
func plainData(value any) any {
	switch v := value.(type) {
	case *nodes:
		if v.kind == mapping {
			out := make(map[string]any, len(v.items))
			for _, it := range v.items {
				out[it.key] = plainData(it.value)
			}
			return out
		}
		out := make([]any, 0, len(v.items))
		for _, it := range v.items {
			out = append(out, plainData(it.value))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, in := range v {
			out[key] = plainData(in)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, in := range v {
			out = append(out, plainData(in))
		}
		return out
	}
	return value
}

// toNodes makes nodes of data, which it copies; items that were not written in the template get the line. What is no map or
// list stays what it is.
func toNodes(value any, line int) any {
	switch v := value.(type) {
	case *nodes:
		out := &nodes{kind: v.kind}
		for _, it := range v.items {
			at := it.line
			if at == 0 {
				at = line
			}
			out.items = append(out.items, &item{key: it.key, line: at, annotations: it.annotations, value: toNodes(it.value, at)})
		}
		return out
	case map[string]any:
		out := &nodes{kind: mapping}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out.items = append(out.items, &item{key: key, line: line, value: toNodes(v[key], line)})
		}
		return out
	case []any:
		out := &nodes{kind: sequence}
		for _, in := range v {
			out.items = append(out.items, &item{line: line, value: toNodes(in, line)})
		}
		return out
	}
	return value
}

// copyData copies data, with numbers as int64 and float64 alone.
func copyData(value any) (any, error) {
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
			copied, err := copyData(in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			out[key] = copied
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for i, in := range v {
			copied, err := copyData(in)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			out = append(out, copied)
		}
		return out, nil
	}
	return nil, fmt.Errorf("a value of the type %T has no place in an object", value)
}
