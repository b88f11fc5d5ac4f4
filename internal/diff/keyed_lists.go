package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// mergedItems is a list as a merge leaves it, in the maps that splitLists returns.
type mergedItems []any

// splitLists removes from the sides of a merge the lists that a strategic patch cannot merge, and
// returns those that a merge changes, merged. Such a list has two items with one merge key, such as
// the port 53 for TCP and for UDP, or items without the key: the patch of one item changes or
// deletes another one, or cannot be created. Others are those with many items. Found is false if
// there are none.
func splitLists(
	in sides, meta strategicpatch.LookupPatchMeta,
) (rest sides, lists map[string]any, found bool) {
	lists, rest = map[string]any{}, in
	for key, value := range in.want {
		switch value := value.(type) {
		case map[string]any:
			inner, _, err := meta.LookupPatchMetadataForStruct(key)
			if err != nil {
				continue
			}
			below := sides{fieldsOf(in.recorded, key), value, fieldsOf(in.live, key)}
			below, replaced, ok := splitLists(below, inner)
			if ok {
				rest, found = rest.with(key, below.recorded, below.want, below.live), true
			}
			if len(replaced) > 0 {
				lists[key] = replaced
			}
		case []any:
			l, inner, ok := keyedListOf(in, key, meta)
			switch {
			case !ok:
			case l.isAmbiguous() || len(l.want) > manyItems || len(l.live) > manyItems:
				rest, found = rest.with(key, nil, nil, nil), true
				if becomes := l.merge(inner); !slices.EqualFunc(becomes, l.live, jsonvalue.Equal) {
					lists[key] = mergedItems(becomes)
				}
			default:
				split, items, ok := l.split(inner)
				if ok {
					rest, found = rest.with(key, split.recorded, split.want, split.live), true
				}
				if len(items) > 0 {
					lists[key] = items
				}
			}
		}
	}
	return rest, lists, found
}

// with returns the sides with other values of a field; nil removes it. A side that lacks the field
// does not change.
func (s sides) with(key string, recorded, want, live any) sides {
	replaced := func(fields map[string]any, value any) map[string]any {
		if _, ok := fields[key]; !ok {
			return fields
		}
		fields = maps.Clone(fields)
		if fields[key] = value; value == nil {
			delete(fields, key)
		}
		return fields
	}
	return sides{replaced(s.recorded, recorded), replaced(s.want, want), replaced(s.live, live)}
}

// keyedList is a list of maps that merges by a key, with the sides of a merge.
type keyedList struct {
	key   string // the merge key
	items builtin.Items

	recorded, want, live []any
}

// keyedListOf returns the list in a field, and how its items merge; ok is false for lists without a
// merge key, and for those with items that are no maps or whose keys cannot be compared.
func keyedListOf(
	in sides, field string, meta strategicpatch.LookupPatchMeta,
) (l keyedList, inner strategicpatch.LookupPatchMeta, ok bool) {
	inner, how, err := meta.LookupPatchMetadataForSlice(field)
	if err != nil || how.GetPatchMergeKey() == "" ||
		!slices.Contains(how.GetPatchStrategies(), "merge") {
		return l, nil, false
	}
	l.key = how.GetPatchMergeKey()
	l.items = builtin.ItemsOf(meta, field, l.key)
	l.recorded, _ = in.recorded[field].([]any)
	l.want, _ = in.want[field].([]any)
	l.live, _ = in.live[field].([]any)
	for _, list := range [][]any{l.recorded, l.want, l.live} {
		if slices.ContainsFunc(list, l.isMalformed) {
			return l, nil, false
		}
	}
	return l, inner, true
}

func (l keyedList) isMalformed(item any) bool {
	fields, isMap := item.(map[string]any)
	_, isDirective := fields["$patch"]
	switch fields[l.key].(type) {
	case map[string]any, []any:
		return true
	}
	return !isMap || isDirective
}

// isAmbiguous reports whether one merge key has two items, on one side or on different ones, or an
// item has none.
func (l keyedList) isAmbiguous() bool {
	wanted := l.firsts(l.want)
	for _, list := range [][]any{l.recorded, l.want, l.live} {
		firsts := l.firsts(list)
		for i, item := range list {
			key := l.keyOf(item)
			if key == nil || firsts[key] != i {
				return true
			}
			if at, ok := wanted[key]; ok && !l.same(item, l.want[at]) {
				return true
			}
		}
	}
	return false
}

// firsts returns the index of the first item of each merge key.
func (l keyedList) firsts(list []any) map[any]int {
	at := make(map[any]int, len(list))
	for i, item := range list {
		if key := l.keyOf(item); key != nil {
			if _, ok := at[key]; !ok {
				at[key] = i
			}
		}
	}
	return at
}

// keyOf returns the merge key of an item, a scalar; nil if it has none. Equal numbers are the same.
func (l keyedList) keyOf(item any) any {
	return scalarOf(fieldOf(item, l.key))
}

// fieldOf returns a field of a list item, nil if it has none.
func fieldOf(item any, name string) any {
	fields, _ := item.(map[string]any)
	return fields[name]
}

// same reports whether all fields that identify two items are the same.
func (l keyedList) same(a, b any) bool {
	for name := range l.items.Keys {
		if !l.agreeIn(name, a, b) {
			return false
		}
	}
	return true
}

// agree reports whether two items have the same values of some fields.
func (l keyedList) agree(fields []string, a, b any) bool {
	return !slices.ContainsFunc(fields, func(name string) bool { return !l.agreeIn(name, a, b) })
}

// agreeIn reports whether two items have the same value of a field, which may be its default.
func (l keyedList) agreeIn(name string, a, b any) bool {
	return jsonvalue.Equal(l.keyOrDefault(a, name), l.keyOrDefault(b, name))
}

// keyOrDefault returns a field of an item, or its default if it has none.
func (l keyedList) keyOrDefault(item any, name string) any {
	if key := fieldOf(item, name); key != nil {
		return key
	}
	return l.items.Keys[name]
}

// match returns for each item of a list the index of the same item in another list, or -1. The
// second one of two items that are identified alike matches the second one.
func (l keyedList) match(list, others []any) []int {
	at, index := make([]int, len(list)), l.index(others)
	for i, item := range list {
		at[i] = -1
		id := l.identity(item)
		queue := index[id]
		next := slices.IndexFunc(queue, func(j int) bool { return l.same(item, others[j]) })
		switch {
		case next == 0:
			at[i], index[id] = queue[0], queue[1:]
		case next > 0:
			at[i], index[id] = queue[next], slices.Delete(queue, next, next+1)
		}
	}
	return at
}

// identity is what items that are the same have in common: the merge key, and the other key of two.
type identity struct{ first, second any }

// identity returns the identity of an item.
func (l keyedList) identity(item any) identity {
	id := identity{first: scalarOf(l.keyOrDefault(item, l.key))}
	for name := range l.items.Keys {
		if name != l.key && len(l.items.Keys) == 2 {
			id.second = scalarOf(l.keyOrDefault(item, name))
		}
	}
	return id
}

// index returns the indices of the items of a list, in order, by their identity.
func (l keyedList) index(list []any) map[identity][]int {
	index := make(map[identity][]int, len(list))
	for i, item := range list {
		id := l.identity(item)
		index[id] = append(index[id], i)
	}
	return index
}

// scalarOf returns a scalar so that equal numbers are the same, and nil for other values.
func scalarOf(value any) any {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case map[string]any, []any:
		return nil
	}
	return value
}

// itemAt returns an item of a list, nil for an index of -1.
func itemAt(list []any, index int) map[string]any {
	if index < 0 {
		return nil
	}
	fields, _ := list[index].(map[string]any)
	return fields
}

// merge returns the list after a three-way merge: the wanted items in their order, then those of
// others. The lists in items are replaced. What cannot be beside the fields of a wanted item is
// removed from it.
func (l keyedList) merge(meta strategicpatch.LookupPatchMeta) []any {
	recorded, live := l.match(l.want, l.recorded), l.match(l.want, l.live)
	becomes := make([]any, 0, len(l.want))
	for i := range l.want {
		in := sides{itemAt(l.recorded, recorded[i]), itemAt(l.want, i), itemAt(l.live, live[i])}
		var found []obstacle
		findObstacles(in, meta, nil, &found)
		in = in.recording(pathsOf(found))
		becomes = append(becomes, applyMergePatch(in.live, mergePatch(in.recorded, in.want, in.live)))
	}
	applied, paired := l.match(l.live, l.recorded), l.paired(live)
	for j, item := range l.live {
		if !paired[j] && applied[j] < 0 {
			becomes = append(becomes, item)
		}
	}
	return becomes
}

// paired reports which live items belong to desired ones, by the indices that those have.
func (l keyedList) paired(live []int) []bool {
	paired := make([]bool, len(l.live))
	for _, at := range live {
		if at >= 0 {
			paired[at] = true
		}
	}
	return paired
}

// split does the same as splitLists in each item of a list that is not ambiguous. It returns the
// list without the lists that it found, and the items with what becomes of them.
func (l keyedList) split(
	meta strategicpatch.LookupPatchMeta,
) (rest keyedList, items []any, found bool) {
	recorded, live := l.match(l.want, l.recorded), l.match(l.want, l.live)
	rest = l
	rest.recorded, rest.want, rest.live =
		slices.Clone(l.recorded), slices.Clone(l.want), slices.Clone(l.live)
	for i := range l.want {
		in := sides{itemAt(l.recorded, recorded[i]), itemAt(l.want, i), itemAt(l.live, live[i])}
		below, replaced, ok := splitLists(in, meta)
		if !ok {
			continue
		}
		found = true
		rest.want[i] = below.want
		if recorded[i] >= 0 {
			rest.recorded[recorded[i]] = below.recorded
		}
		if live[i] >= 0 {
			rest.live[live[i]] = below.live
		}
		if len(replaced) > 0 {
			replaced[l.key] = in.want[l.key]
			items = append(items, replaced)
		}
	}
	return rest, items, found
}

// setLists sets in a merged object, in place, the lists that splitLists returned. It ignores the
// items that the object lacks.
func setLists(fields, lists map[string]any, meta strategicpatch.LookupPatchMeta) {
	for field, value := range lists {
		switch value := value.(type) {
		case map[string]any:
			below, isMap := fields[field].(map[string]any)
			if inner, _, err := meta.LookupPatchMetadataForStruct(field); err == nil && isMap {
				setLists(below, value, inner)
			}
		case mergedItems:
			fields[field] = runtime.DeepCopyJSONValue([]any(value))
		case []any:
			inner, how, err := meta.LookupPatchMetadataForSlice(field)
			if err != nil {
				continue
			}
			items, _ := fields[field].([]any)
			key := how.GetPatchMergeKey()
			for i := range value {
				at := slices.IndexFunc(items, func(item any) bool {
					return jsonvalue.Equal(fieldOf(item, key), fieldOf(value[i], key))
				})
				if at >= 0 {
					setLists(itemAt(items, at), itemAt(value, i), inner)
				}
			}
		}
	}
}
