package change

import (
	"maps"
	"slices"
	"strconv"
)

// edit is one difference of two values: what stands at a path on either side; absent is told from null.
type edit struct {
	path             []string
	old, new         any
	oldThere, newHas bool
}

// sameDifference reports whether the way from before to after is the way from before2 to after2.
func sameDifference(before, after, before2, after2 any) bool {
	return slices.EqualFunc(edits(nil, nil, before, after), edits(nil, nil, before2, after2), func(a, b edit) bool {
		return slices.Equal(a.path, b.path) && a.oldThere == b.oldThere && a.newHas == b.newHas && equal(a.old, b.old) && equal(a.new, b.new)
	})
}

// edits lists the differences of two values in the order of their paths. Items of lists are compared by their places.
func edits(all []edit, path []string, before, after any) []edit {
	if oldMap, ok := before.(map[string]any); ok {
		if newMap, ok := after.(map[string]any); ok {
			return editsOfMaps(all, path, oldMap, newMap)
		}
	}
	if oldList, ok := before.([]any); ok {
		if newList, ok := after.([]any); ok {
			return editsOfLists(all, path, oldList, newList)
		}
	}
	if equal(before, after) {
		return all
	}
	return append(all, edit{slices.Clone(path), before, after, true, true})
}

func editsOfMaps(all []edit, path []string, before, after map[string]any) []edit {
	keys := slices.AppendSeq(make([]string, 0, len(before)+len(after)), maps.Keys(before))
	keys = slices.AppendSeq(keys, maps.Keys(after))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		old, oldThere := before[key]
		new, newHas := after[key]
		if oldThere && newHas {
			all = edits(all, append(path, key), old, new)
		} else {
			all = append(all, edit{append(slices.Clone(path), key), old, new, oldThere, newHas})
		}
	}
	return all
}

func editsOfLists(all []edit, path []string, before, after []any) []edit {
	for i := range max(len(before), len(after)) {
		here := strconv.Itoa(i)
		switch {
		case i >= len(after):
			all = append(all, edit{append(slices.Clone(path), here), before[i], nil, true, false})
		case i >= len(before):
			all = append(all, edit{append(slices.Clone(path), here), nil, after[i], false, true})
		default:
			all = edits(all, append(path, here), before[i], after[i])
		}
	}
	return all
}
