package ytt

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// The names of the types in Starlark.
const (
	typeStruct   = "struct"       // data values
	typeFragment = "yamlfragment" // YAML of a template, or the object
)

// listValue is an array with annotations, which a list of Starlark would lose.
type listValue struct {
	*starlark.List
	nodes *nodes
}

func (l listValue) Type() string { return typeFragment }

// toStarlark converts data to values of Starlark. name is the type of maps.
func toStarlark(name string, value any) starlark.Value {
	switch v := value.(type) {
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case float64:
		return starlark.Float(v)
	case string:
		return starlark.String(v)
	case map[string]any:
		return newMap(name, v)
	case []any:
		items := make([]starlark.Value, 0, len(v))
		for _, in := range v {
			items = append(items, toStarlark(name, in))
		}
		return starlark.NewList(items)
	case *nodes:
		return fragment(v)
	case starlark.Value:
		return v
	}
	return starlark.None
}

// fragment converts nodes to values of Starlark.
func fragment(n *nodes) starlark.Value {
	data := plainData(n)
	if n.kind == mapping {
		m := &mapValue{name: typeFragment, data: data.(map[string]any), nodes: n}
		for _, it := range n.items {
			m.keys = append(m.keys, it.key)
		}
		return m
	}
	list := toStarlark(typeFragment, data).(*starlark.List)
	if n.kind == sequence && !hasAnnotations(n) {
		return list
	}
	return listValue{list, n}
}

var errNoData = errors.New("cannot stand in YAML")

// fromStarlark converts a value of Starlark to plain data, or to the nodes that it was built from.
func fromStarlark(value starlark.Value) (any, error) {
	switch v := value.(type) {
	case nil, starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		n, ok := v.Int64()
		if !ok {
			return nil, fmt.Errorf("the number %s is too large", v)
		}
		return n, nil
	case starlark.Float:
		return float64(v), nil
	case starlark.String:
		return string(v), nil
	case *mapValue:
		switch {
		case v.nodes != nil:
			return v.nodes, nil
		case v.starlark:
			return fromPairs(v.Items())
		}
		return v.data, nil
	case listValue:
		return v.nodes, nil
	case starlark.IterableMapping:
		return fromPairs(v.Items())
	case starlark.Iterable:
		return fromList(v)
	}
	return nil, fmt.Errorf("a value of the type %s %w", value.Type(), errNoData)
}

// fromPairs converts the items of a dict to nodes, which keep their order.
func fromPairs(pairs []starlark.Tuple) (any, error) {
	out := &nodes{kind: mapping}
	for _, pair := range pairs {
		key, ok := pair[0].(starlark.String)
		if !ok {
			return nil, fmt.Errorf("the key %s is no string, and %w", pair[0], errNoData)
		}
		value, err := fromStarlark(pair[1])
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, &item{key: string(key), value: value})
	}
	return out, nil
}

func fromList(list starlark.Iterable) (any, error) {
	out := &nodes{kind: sequence}
	for value := range starlark.Elements(list) {
		in, err := fromStarlark(value)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, &item{value: in})
	}
	return out, nil
}
