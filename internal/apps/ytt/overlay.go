package ytt

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// The directives of items. One of the first six says what is done; noteMerge is done where none is given.
const (
	noteMerge   = "overlay/merge"
	noteRemove  = "overlay/remove"
	noteReplace = "overlay/replace"
	noteInsert  = "overlay/insert"
	noteAppend  = "overlay/append"
	noteAssert  = "overlay/assert"

	noteMatch         = "overlay/match"
	noteMatchDefaults = "overlay/match-child-defaults"
	noteOverride      = "yaml/map-key-override"
)

// overlaying lays nodes over plain data, which it changes in place where it can.
type overlaying struct {
	thread  *starlark.Thread
	program *program
}

// operation is the directive that says what is done with an item.
func operation(it *item) (note, error) {
	found := note{name: noteMerge, line: it.line}
	given := false
	for _, n := range it.notes {
		switch n.name {
		case noteMerge, noteRemove, noteReplace, noteInsert, noteAppend, noteAssert:
			if given {
				return n, fmt.Errorf("line %d: #@%s and #@%s stand on one node; it can have one of them", n.line, found.name, n.name)
			}
			found, given = n, true
		}
	}
	return found, nil
}

// apply lays something over data, and gives what comes out.
func (o *overlaying) apply(left, right any, line int, defaults expect) (any, error) {
	over, ok := right.(*nodes)
	if !ok {
		return right, nil
	}
	switch over.kind {
	case mapping:
		data, ok := left.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("line %d: a map is laid over %s; #@overlay/replace replaces what is there", line, typeOf(left))
		}
		for _, it := range over.items {
			if err := o.entry(data, it, defaults); err != nil {
				return nil, err
			}
		}
		return data, nil
	case sequence:
		data, ok := left.([]any)
		if !ok {
			return nil, fmt.Errorf("line %d: an array is laid over %s; #@overlay/replace replaces what is there", line, typeOf(left))
		}
		return o.list(data, over, defaults)
	}
	return nil, fmt.Errorf("line %d: documents are laid over %s", line, typeOf(left))
}

func (o *overlaying) list(data []any, over *nodes, defaults expect) ([]any, error) {
	for _, it := range over.items {
		var err error
		if data, err = o.element(data, it, defaults, element); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// entry lays one item over a map.
func (o *overlaying) entry(data map[string]any, it *item, defaults expect) error {
	op, err := operation(it)
	if err != nil {
		return err
	}
	if op.name == noteInsert || op.name == noteAppend {
		return fmt.Errorf("line %d: #@%s is for array items, but here is the map key %q", op.line, op.name, it.key)
	}
	keys, skip, err := o.keys(data, it, defaults)
	if skip || err != nil {
		return err
	}
	for _, key := range keys {
		if op.name == noteRemove {
			delete(data, key)
			continue
		}
		if data[key], err = o.change(op, data[key], it, defaults); err != nil {
			return err
		}
	}
	if len(keys) == 0 && adds(op) {
		data[it.key], err = o.added(op, it)
	}
	return err
}

// keys are those of a map that an item is for.
func (o *overlaying) keys(data map[string]any, it *item, defaults expect) (keys []string, skip bool, err error) {
	m, err := matchingOf(it, defaults)
	if err != nil {
		return nil, false, err
	}
	if m.by == nil {
		count := 0
		if _, ok := data[it.key]; ok {
			count, keys = 1, []string{it.key}
		}
		met, want, err := o.met(m, count)
		switch {
		case err != nil:
			return nil, false, m.fail("%w", o.program.told(err))
		case !met && m.expect.when == nil:
			return nil, false, m.fail("the key %q: %s, but %d found", it.key, want, count)
		}
		return keys, !met, nil
	}
	all := slices.Sorted(maps.Keys(data))
	candidates := make([]candidate, 0, len(all))
	for _, key := range all {
		candidates = append(candidates, candidate{starlark.String(key), data[key]})
	}
	found, skip, err := o.find(m, candidates, it)
	for _, i := range found {
		keys = append(keys, all[i])
	}
	return keys, skip, err
}

// element lays one item over an array, or a document over all documents.
func (o *overlaying) element(data []any, it *item, defaults expect, of kind) ([]any, error) {
	op, err := operation(it)
	if err != nil {
		return nil, err
	}
	if op.name == noteAppend {
		return append(data, plain(it.value)), nil
	}
	if _, ok := it.note(noteMatch); !ok {
		return nil, fmt.Errorf("line %d: this %s has no #@overlay/match by=… that says what it is laid over (or #@overlay/append)", it.line, of)
	}
	m, err := matchingOf(it, defaults)
	if err != nil {
		return nil, err
	}
	candidates := make([]candidate, 0, len(data))
	for i, in := range data {
		candidates = append(candidates, candidate{starlark.MakeInt(i), in})
	}
	if m.by == nil {
		return nil, m.fail("the argument by is missing, which says what the %s is laid over", of)
	}
	found, skip, err := o.find(m, candidates, it)
	if skip || err != nil {
		return data, err
	}
	return o.place(op, data, found, it, defaults, of)
}

// place does to the items that were found what the directive says.
func (o *overlaying) place(op note, data []any, found []int, it *item, defaults expect, of kind) ([]any, error) {
	if len(found) == 0 && of == element && adds(op) {
		added, err := o.added(op, it)
		return append(data, added), err
	}
	before, after := truth(op.args["before"]), truth(op.args["after"])
	if op.name == noteInsert && !before && !after {
		return nil, fmt.Errorf("line %d: #@%s has neither before=True nor after=True", op.line, op.name)
	}
	out := make([]any, 0, len(data)+len(found))
	for i, in := range data {
		_, matched := slices.BinarySearch(found, i)
		switch {
		case !matched:
			out = append(out, in)
		case op.name == noteRemove:
		case op.name == noteInsert:
			if before {
				out = append(out, plain(it.value))
			}
			out = append(out, in)
			if after {
				out = append(out, plain(it.value))
			}
		default:
			changed, err := o.change(op, in, it, defaults)
			if err != nil {
				return nil, err
			}
			out = append(out, changed)
		}
	}
	return out, nil
}

func truth(value starlark.Value) bool { return value != nil && bool(value.Truth()) }

// change gives what becomes of one node: merged, replaced or asserted.
func (o *overlaying) change(op note, left any, it *item, defaults expect) (any, error) {
	switch op.name {
	case noteReplace:
		return o.replaced(op, left, it)
	case noteAssert:
		if err := o.assert(op, left, it); err != nil {
			return nil, fmt.Errorf("line %d: #@%s: %w", op.line, op.name, o.program.told(err))
		}
	}
	defaults, err := childDefaults(it, defaults)
	if err != nil {
		return nil, err
	}
	if left == nil {
		return plain(it.value), nil
	}
	changed, err := o.apply(left, it.value, it.line, defaults)
	if err != nil || op.name == noteAssert && !isNodes(it.value) {
		return left, err
	}
	return changed, err
}

func isNodes(value any) bool {
	_, ok := value.(*nodes)
	return ok
}
