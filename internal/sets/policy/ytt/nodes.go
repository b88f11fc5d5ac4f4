package ytt

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// nodes is YAML that a template built: documents, the items of a map in order, or those of an
// array. Unlike plain data it has annotations.
type nodes struct {
	kind  kind // stream, mapping or sequence
	items []*item
}

// item is one of the nodes.
type item struct {
	key         string // empty outside of a map
	line        int
	annotations []annotation
	value       any // plain, or *nodes
}

// annotation is an annotation of an item with its arguments.
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

// hasAnnotations reports whether a value has annotations at any depth.
func hasAnnotations(value any) bool {
	n, ok := value.(*nodes)
	return ok && slices.ContainsFunc(n.items,
		func(it *item) bool { return len(it.annotations) > 0 || hasAnnotations(it.value) })
}

// plainData returns a copy without annotations.
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

// toNodes copies data as nodes. Items without a line get the given one. A scalar stays a scalar.
func toNodes(value any, line int) any {
	switch v := value.(type) {
	case *nodes:
		out := &nodes{kind: v.kind}
		for _, it := range v.items {
			at := it.line
			if at == 0 {
				at = line
			}
			out.items = append(out.items,
				&item{key: it.key, line: at, annotations: it.annotations, value: toNodes(it.value, at)})
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

// copyData copies data. Numbers become int64 or float64.
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
