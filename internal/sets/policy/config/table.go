package config

import (
	"iter"
	"maps"
	"slices"
)

// table holds the rules of a section in order. It indexes them by kind, so that rules for other
// kinds do not cost time.
type table[T any] struct {
	rules    []T
	matchers []matcher
	byKind   map[string][]int // rules that may match a kind, in order
	open     []int            // rules that may match every kind
}

// add appends a rule.
func (t *table[T]) add(m matcher, rule T) {
	at := len(t.rules)
	t.rules = append(t.rules, rule)
	t.matchers = append(t.matchers, m)
	kinds, named := m.kinds()
	if !named {
		t.open = append(t.open, at)
		for kind, list := range t.byKind {
			t.byKind[kind] = append(list, at)
		}
		return
	}
	if t.byKind == nil {
		t.byKind = map[string][]int{}
	}
	for _, kind := range kinds {
		list, found := t.byKind[kind]
		if !found {
			list = slices.Clone(t.open)
		}
		t.byKind[kind] = append(list, at)
	}
}

// clone returns a copy to which rules can be added.
func (t *table[T]) clone() table[T] {
	byKind := maps.Clone(t.byKind)
	for kind, list := range byKind {
		byKind[kind] = slices.Clip(list)
	}
	return table[T]{slices.Clip(t.rules), slices.Clip(t.matchers), byKind, slices.Clip(t.open)}
}

// candidates returns the rules that may match a kind.
func (t *table[T]) candidates(kind string) []int {
	if list, found := t.byKind[kind]; found {
		return list
	}
	return t.open
}

// matching returns the rules that match an object in order. Each rule is matched against the
// object as the rules before it left it.
func (t *table[T]) matching(obj map[string]any) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		kind := text(obj, "kind")
		list := t.candidates(kind)
		if len(list) == 0 {
			return
		}
		s := &subject{obj: obj}
		for at := 0; at < len(list); at++ {
			rule := list[at]
			if !t.matchers[rule].matches(s) {
				continue
			}
			if !yield(rule, t.rules[rule]) {
				return
			}
			s.known = false
			if now := text(obj, "kind"); now != kind {
				kind, list = now, t.candidates(now)
				at, _ = slices.BinarySearch(list, rule+1)
				at--
			}
		}
	}
}
