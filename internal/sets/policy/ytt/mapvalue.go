package ytt

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// mapValue is a read-only map of Starlark. x.key and x["key"] read the same value.
type mapValue struct {
	name  string // name of the type
	data  map[string]any
	keys  []string // in order
	nodes *nodes   // the YAML that it was built from; nil for plain data

	starlark bool // the values of data are values of Starlark
}

var (
	_ starlark.IterableMapping = (*mapValue)(nil)
	_ starlark.Sequence        = (*mapValue)(nil)
	_ starlark.HasAttrs        = (*mapValue)(nil)
	_ starlark.Comparable      = (*mapValue)(nil)
)

func newMap(name string, data map[string]any) *mapValue {
	return &mapValue{name: name, data: data, keys: slices.Sorted(maps.Keys(data))}
}

func (m *mapValue) dict() *starlark.Dict {
	d := starlark.NewDict(len(m.keys))
	for _, key := range m.keys {
		_ = d.SetKey(starlark.String(key), m.at(key)) // a new dict takes every string
	}
	return d
}

func (m *mapValue) at(key string) starlark.Value { return toStarlark(m.name, m.data[key]) }

func (m *mapValue) String() string          { return m.name + "(" + m.dict().String() + ")" }
func (m *mapValue) Type() string            { return m.name }
func (m *mapValue) Freeze()                 {}
func (m *mapValue) Truth() starlark.Bool    { return true }
func (m *mapValue) Hash() (uint32, error)   { return 0, fmt.Errorf("unhashable type: %s", m.name) }
func (m *mapValue) Len() int                { return len(m.keys) }
func (m *mapValue) AttrNames() []string     { return m.keys }
func (m *mapValue) Items() []starlark.Tuple { return m.dict().Items() }

// Attr returns the value of a key, or nil if there is none.
func (m *mapValue) Attr(name string) (starlark.Value, error) {
	if _, ok := m.data[name]; !ok {
		return nil, nil
	}
	return m.at(name), nil
}

// Get returns the value for m[key], and reports whether key is in m.
func (m *mapValue) Get(key starlark.Value) (starlark.Value, bool, error) {
	name, ok := key.(starlark.String)
	if !ok {
		return nil, false, nil
	}
	if _, ok := m.data[string(name)]; !ok {
		return nil, false, nil
	}
	return m.at(string(name)), true, nil
}

// Iterate returns an iterator over the keys.
func (m *mapValue) Iterate() starlark.Iterator {
	keys := make([]starlark.Value, 0, len(m.keys))
	for _, key := range m.keys {
		keys = append(keys, starlark.String(key))
	}
	return starlark.NewList(keys).Iterate()
}

// CompareSameType compares two maps by their content.
func (m *mapValue) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	same := equal(m.data, other.(*mapValue).data)
	switch op {
	case syntax.EQL:
		return same, nil
	case syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("%s %s %s is not implemented", m.name, op, m.name)
}
