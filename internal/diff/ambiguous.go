package diff

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// replaceAmbiguous changes a strategic patch so that it replaces the lists that it would merge
// wrongly, and reports whether there are any. A merge cannot distinguish items with the same key,
// such as the port 53 for TCP and for UDP: the patch of one changes or deletes the other.
func replaceAmbiguous(
	patch map[string]any, sides mergedSides, meta strategicpatch.LookupPatchMeta,
) bool {
	changed := false
	for key, value := range sides.sent {
		switch value := value.(type) {
		case map[string]any:
			inner, _, err := meta.LookupPatchMetadataForStruct(key)
			if err != nil {
				continue
			}
			below := fieldsOf(patch, key)
			if below == nil {
				below = map[string]any{}
			}
			if replaceAmbiguous(below, sides.below(key), inner) {
				patch[key], changed = below, true
			}
		case []any:
			inner, how, err := meta.LookupPatchMetadataForSlice(key)
			if err != nil || how.GetPatchMergeKey() == "" ||
				!slices.Contains(how.GetPatchStrategies(), "merge") {
				continue
			}
			l := sides.list(key, how.GetPatchMergeKey())
			if l.isAmbiguous() {
				if l.isWrong() {
					delete(patch, "$setElementOrder/"+key)
					directive := map[string]any{"$patch": "replace"}
					patch[key], changed = append([]any{directive}, value...), true
				}
				continue
			}
			items, _ := patch[key].([]any)
			if items, ok := l.replaceInItems(items, inner); ok {
				patch[key], changed = items, true
			}
		}
	}
	return changed
}

// mergedSides are the sides of a merge: what is wanted in the words of the manifest, and then, as a
// server would store them, what was recorded, what is wanted, and what a patch leads to.
type mergedSides struct{ sent, recorded, want, result map[string]any }

func mergedSidesOf(in sides, result *unstructured.Unstructured) mergedSides {
	stored := func(fields map[string]any) map[string]any {
		if form, ok := builtin.Stored(fields); ok {
			return form
		}
		return fields
	}
	return mergedSides{in.want, stored(in.recorded), stored(in.want), stored(result.Object)}
}

// below returns the maps under a key.
func (s mergedSides) below(key string) mergedSides {
	return mergedSides{
		fieldsOf(s.sent, key), fieldsOf(s.recorded, key), fieldsOf(s.want, key), fieldsOf(s.result, key),
	}
}

// list returns the lists under a key, which merge by the merge key.
func (s mergedSides) list(key, mergeKey string) mergedList {
	l := mergedList{key: mergeKey}
	l.sent, _ = s.sent[key].([]any)
	l.recorded, _ = s.recorded[key].([]any)
	l.want, _ = s.want[key].([]any)
	l.result, _ = s.result[key].([]any)
	return l
}

// mergedList is a list of maps that merges by a key, with the sides of mergedSides.
type mergedList struct {
	key                          string
	sent, recorded, want, result []any
}

// isAmbiguous reports whether two items of one side have the same key.
func (l mergedList) isAmbiguous() bool {
	for _, list := range [][]any{l.recorded, l.want, l.result} {
		for i, item := range list {
			if slices.IndexFunc(list, l.withKeyOf(item)) != i {
				return true
			}
		}
	}
	return false
}

// withKeyOf returns the predicate of items that have the same key as another.
func (l mergedList) withKeyOf(item any) func(any) bool {
	fields, _ := item.(map[string]any)
	return func(other any) bool {
		others, _ := other.(map[string]any)
		return jsonvalue.Equal(fields[l.key], others[l.key])
	}
}

// isWrong reports whether a wanted item is missing in the result, or a recorded one is there that
// is not wanted any more.
func (l mergedList) isWrong() bool {
	for _, item := range l.want {
		if !slices.ContainsFunc(l.result, func(r any) bool { return covers(r, item) }) {
			return true
		}
	}
	for _, r := range l.result {
		covered := func(item any) bool { return covers(r, item) }
		if slices.ContainsFunc(l.recorded, covered) && !slices.ContainsFunc(l.want, covered) {
			return true
		}
	}
	return false
}

// replaceInItems does the same as replaceAmbiguous in each item of a list, and returns the items of
// the patch.
func (l mergedList) replaceInItems(
	patch []any, meta strategicpatch.LookupPatchMeta,
) (items []any, changed bool) {
	for _, item := range l.sent {
		find := func(list []any) map[string]any {
			if i := slices.IndexFunc(list, l.withKeyOf(item)); i >= 0 {
				fields, _ := list[i].(map[string]any)
				return fields
			}
			return nil
		}
		sent, _ := item.(map[string]any)
		below := find(patch)
		isNew := below == nil
		if isNew {
			below = map[string]any{l.key: sent[l.key]}
		}
		sides := mergedSides{sent, find(l.recorded), find(l.want), find(l.result)}
		if replaceAmbiguous(below, sides, meta) {
			changed = true
			if isNew {
				patch = append(patch, below)
			}
		}
	}
	return patch, changed
}

// covers reports whether a live value has everything wanted: the same scalars, all keys of maps,
// and for lists as many items in the same order.
func covers(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := live.(map[string]any)
		if !ok && len(want) > 0 {
			return false
		}
		for key, value := range want {
			if !covers(fields[key], value) {
				return false
			}
		}
		return true
	case []any:
		items, _ := live.([]any)
		return slices.EqualFunc(items, want, covers)
	default:
		return jsonvalue.Equal(live, want)
	}
}
