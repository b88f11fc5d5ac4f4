package ytt

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// The annotations of items. The first six are actions; annMerge is the default.
const (
	annMerge   = "overlay/merge"
	annRemove  = "overlay/remove"
	annReplace = "overlay/replace"
	annInsert  = "overlay/insert"
	annAppend  = "overlay/append"
	annAssert  = "overlay/assert"

	annMatch         = "overlay/match"
	annMatchDefaults = "overlay/match-child-defaults"
	annOverride      = "yaml/map-key-override"
)

// applier applies nodes to plain data, which it changes in place where it can.
type applier struct {
	thread  *starlark.Thread
	program *program
}

// operation returns the action of an item.
func operation(it *item) (annotation, error) {
	found := annotation{name: annMerge, line: it.line}
	given := false
	for _, n := range it.annotations {
		switch n.name {
		case annMerge, annRemove, annReplace, annInsert, annAppend, annAssert:
			if given {
				return n, fmt.Errorf("line %d: #@%s and #@%s stand on one node; it can have one of them",
					n.line, found.name, n.name)
			}
			found, given = n, true
		}
	}
	return found, nil
}

// apply returns the result of applying a value to data.
func (o *applier) apply(left, right any, line int, defaults expectation) (any, error) {
	over, ok := right.(*nodes)
	if !ok {
		return right, nil
	}
	switch over.kind {
	case mapping:
		data, ok := left.(map[string]any)
		if !ok {
			return nil, fmt.Errorf(
				"line %d: a map is laid over %s; #@overlay/replace replaces what is there", line, typeOf(left))
		}
		for _, it := range over.items {
			if err := o.applyMapItem(data, it, defaults); err != nil {
				return nil, err
			}
		}
		return data, nil
	case sequence:
		data, ok := left.([]any)
		if !ok {
			return nil, fmt.Errorf(
				"line %d: an array is laid over %s; #@overlay/replace replaces what is there", line,
				typeOf(left))
		}
		return o.applyArray(data, over, defaults)
	}
	return nil, fmt.Errorf("line %d: documents are laid over %s", line, typeOf(left))
}

func (o *applier) applyArray(data []any, over *nodes, defaults expectation) ([]any, error) {
	for _, it := range over.items {
		var err error
		if data, err = o.applyItem(data, it, defaults, element); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// applyMapItem applies one item to a map.
func (o *applier) applyMapItem(data map[string]any, it *item, defaults expectation) error {
	op, err := operation(it)
	if err != nil {
		return err
	}
	if op.name == annInsert || op.name == annAppend {
		return fmt.Errorf("line %d: #@%s is for array items, but here is the map key %q", op.line,
			op.name, it.key)
	}
	keys, skip, err := o.findKeys(data, it, defaults)
	if skip || err != nil {
		return err
	}
	for _, key := range keys {
		if op.name == annRemove {
			delete(data, key)
			continue
		}
		if data[key], err = o.changeNode(op, data[key], it, defaults); err != nil {
			return err
		}
	}
	if len(keys) == 0 && addsMissing(op) {
		data[it.key], err = o.addedValue(op, it)
	}
	return err
}

// findKeys returns the keys of a map that an item applies to.
func (o *applier) findKeys(data map[string]any, it *item, defaults expectation) (keys []string,
	skip bool, err error) {
	m, err := newMatch(it, defaults)
	if err != nil {
		return nil, false, err
	}
	if m.by == nil {
		count := 0
		if _, ok := data[it.key]; ok {
			count, keys = 1, []string{it.key}
		}
		met, want, err := o.checkCount(m, count)
		switch {
		case err != nil:
			return nil, false, m.fail("%w", o.program.locateError(err))
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

// applyItem applies one item to an array, or a document with overlay/match to all documents.
func (o *applier) applyItem(data []any, it *item, defaults expectation, of kind) ([]any, error) {
	op, err := operation(it)
	if err != nil {
		return nil, err
	}
	if op.name == annAppend {
		return append(data, plainData(it.value)), nil
	}
	if _, ok := it.findAnnotation(annMatch); !ok { // an array item that matches nothing
		return o.changeItems(op, data, nil, it, defaults, of)
	}
	m, err := newMatch(it, defaults)
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
	return o.changeItems(op, data, found, it, defaults, of)
}

// changeItems applies the action of an item to the items that match.
func (o *applier) changeItems(op annotation, data []any, found []int, it *item,
	defaults expectation, of kind) ([]any, error) {
	if len(found) == 0 && of == element && addsMissing(op) {
		added, err := o.addedValue(op, it)
		return append(data, added), err
	}
	before, after := isTrue(op.args["before"]), isTrue(op.args["after"])
	if op.name == annInsert && !before && !after {
		return nil, fmt.Errorf("line %d: #@%s has neither before=True nor after=True", op.line, op.name)
	}
	out := make([]any, 0, len(data)+len(found))
	for i, in := range data {
		_, matched := slices.BinarySearch(found, i)
		switch {
		case !matched:
			out = append(out, in)
		case op.name == annRemove:
		case op.name == annInsert:
			if before {
				out = append(out, plainData(it.value))
			}
			out = append(out, in)
			if after {
				out = append(out, plainData(it.value))
			}
		default:
			changed, err := o.changeNode(op, in, it, defaults)
			if err != nil {
				return nil, err
			}
			out = append(out, changed)
		}
	}
	return out, nil
}

func isTrue(value starlark.Value) bool { return value != nil && bool(value.Truth()) }

// changeNode returns the result of one node: merged, replaced or asserted.
func (o *applier) changeNode(op annotation, left any, it *item, defaults expectation) (any, error) {
	switch op.name {
	case annReplace:
		return o.replacedValue(op, left, it)
	case annAssert:
		if err := o.assert(op, left, it); err != nil {
			return nil, fmt.Errorf("line %d: #@%s: %w", op.line, op.name, o.program.locateError(err))
		}
	}
	defaults, err := childDefaults(it, defaults)
	if err != nil {
		return nil, err
	}
	if left == nil {
		return plainData(it.value), nil
	}
	changed, err := o.apply(left, it.value, it.line, defaults)
	if err != nil || op.name == annAssert && !isNodes(it.value) {
		return left, err
	}
	return changed, err
}

func isNodes(value any) bool {
	_, ok := value.(*nodes)
	return ok
}
