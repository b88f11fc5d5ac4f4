package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// WithAdded returns a desired object with what others have added to the maps and lists of the live
// one, where these were applied and the desired one lacks them: a merge would remove them as a
// whole. In maps with any keys and in lists that merge by item that is what was not applied. In
// others the server sets defaults: only what others than the set own is theirs. Nothing is kept in
// a struct that would be invalid without what was applied. It is the desired object itself if there
// is nothing.
func WithAdded(
	want, applied, live *unstructured.Unstructured, by Setter,
) (*unstructured.Unstructured, error) {
	if !MayHaveAdded(want, applied, live) { // owners are read only if they matter
		return want, nil
	}
	owners, _, err := readFieldSets(live, by.owns)
	if err != nil {
		return nil, err
	}
	fields, changed := sharedOf(want, applied, live, owners.others).kept()
	if !changed {
		return want, nil
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// MayHaveAdded reports whether WithAdded changes a desired object for some owners of the fields of
// the live one.
func MayHaveAdded(want, applied, live *unstructured.Unstructured) bool {
	if want == nil || applied == nil || live == nil {
		return false
	}
	_, changed := sharedOf(want, applied, live, anyone).kept()
	return changed
}

// Setter says who are the managers of a set: one, and those that have set its mark, a label or an
// annotation.
type Setter struct {
	Manager     string
	Field, Key  string   // of the metadata
	Annotations []string // that say what was applied; they are no part of that
}

// owns reports whether an entry of the managed fields is one of the set.
func (s Setter) owns(entry map[string]any) bool {
	if subresource, _ := entry["subresource"].(string); subresource != "" {
		return false
	}
	metadata := fieldsOf(fieldsOf(entry, "fieldsV1"), "f:metadata")
	_, marked := fieldsOf(metadata, "f:"+s.Field)["f:"+s.Key]
	return marked || entry["manager"] == s.Manager
}

// shared is a map on the three sides of a merge, with the fields that others own.
type shared struct {
	sides
	others *fieldSet
	meta   strategicpatch.LookupPatchMeta // nil if the type is unknown
	merges bool                           // by a strategic patch
}

// sharedOf returns the sides of objects.
func sharedOf(want, applied, live *unstructured.Unstructured, others *fieldSet) shared {
	m := mergeFor(want)
	recorded := without(applied.Object, "apiVersion", "kind", "status")
	return shared{sides{recorded, want.Object, live.Object}, others, m.of, m.meta != nil}
}

// field returns the same of a field.
func (s shared) field(key string) shared {
	inner := structMeta(s.meta, key)
	if s.meta == nil && key == "metadata" && s.live["apiVersion"] != nil {
		inner = builtin.MetadataMeta()
	}
	return shared{s.sides.field(key), s.others.field(key), inner, s.merges}
}

// kept returns the desired side with what others have added.
func (s shared) kept() (fields map[string]any, changed bool) {
	fields = s.want
	for key := range s.recorded {
		value, ok := s.value(key)
		if !ok {
			continue
		}
		if !changed {
			fields, changed = maps.Clone(s.want), true
		}
		fields[key] = value
	}
	return fields, changed
}

// value returns what becomes of an applied field of the desired side; ok is false if it stays.
func (s shared) value(key string) (_ any, ok bool) {
	want, described := s.want[key]
	_, isMap := want.(map[string]any)
	_, isList := want.([]any)
	switch live := s.live[key].(type) {
	case map[string]any:
		inner := s.field(key)
		switch {
		case inner.recorded == nil, described && !isMap:
		case described:
			return inner.kept()
		case !slices.Contains(builtin.Rivals(s.meta, s.want, s.live), key):
			added := inner.added()
			return added, added != nil
		}
	case []any:
		if was, applied := s.recorded[key].([]any); applied && (isList || !described) {
			return s.list(key, was, live, described)
		}
	}
	return nil, false
}

// added returns what others have added to a map that the desired side lacks; nil for nothing.
func (s shared) added() map[string]any {
	added, isFree := map[string]any{}, s.meta != nil && s.meta.Name() == "map"
	for key, live := range s.live {
		if _, applied := s.recorded[key]; applied {
			if value, ok := s.value(key); ok {
				added[key] = value
			}
		} else if isFree || s.others.field(key) != nil {
			added[key] = live
		}
	}
	if len(added) == 0 || !builtin.IsComplete(s.meta, added, s.live) {
		return nil
	}
	return added
}

// list does what value does for a list.
func (s shared) list(key string, was, live []any, described bool) (_ any, ok bool) {
	if s.meta == nil {
		theirs := s.others.field(key).itemsBeside(was, live)
		return theirs, len(theirs) > 0 && !described
	}
	if l, inner, isKeyed := keyedListOf(s.sides, key, s.meta); isKeyed {
		if described {
			return s.items(l, inner, s.others.field(key))
		}
		applied := l.match(l.live, l.recorded)
		theirs := pick(live, func(i int) bool { return applied[i] < 0 })
		return theirs, len(theirs) > 0
	}
	_, how, err := s.meta.LookupPatchMetadataForSlice(key)
	if err != nil || !slices.Contains(how.GetPatchStrategies(), "merge") ||
		how.GetPatchMergeKey() != "" || described && s.merges {
		return nil, false
	}
	want, _ := s.want[key].([]any)
	theirs := pick(live, func(i int) bool {
		same := func(other any) bool { return jsonvalue.Equal(other, live[i]) }
		return !slices.ContainsFunc(was, same) && !slices.ContainsFunc(want, same)
	})
	return slices.Concat(want, theirs), len(theirs) > 0
}

// items does so in the items of a list that merges by key.
func (s shared) items(
	l keyedList, meta strategicpatch.LookupPatchMeta, others *fieldSet,
) (items []any, changed bool) {
	if !s.merges {
		return nil, false
	}
	items = l.want
	recorded, live := l.match(l.want, l.recorded), l.match(l.want, l.live)
	for i := range l.want {
		if recorded[i] < 0 || live[i] < 0 {
			continue
		}
		item := shared{sides{itemAt(l.recorded, recorded[i]), itemAt(l.want, i),
			itemAt(l.live, live[i])}, others.itemOf(l.live[live[i]]), meta, s.merges}
		fields, ok := item.kept()
		if !ok {
			continue
		}
		if !changed {
			items, changed = slices.Clone(items), true
		}
		items[i] = fields
	}
	return items, changed
}

// pick returns the items of a list at some indexes.
func pick(list []any, at func(i int) bool) (picked []any) {
	for i, item := range list {
		if at(i) {
			picked = append(picked, item)
		}
	}
	return picked
}

// itemsBeside returns the items of a live list that are in the set, and that others do not have.
func (s *fieldSet) itemsBeside(others, live []any) []any {
	index := newSelectorIndex(s.listItems())
	return pick(live, func(i int) bool {
		if s == anyone {
			return true
		}
		for _, selector := range index.candidates(live[i], false) {
			item := s.items[selector]
			if item.selects(live[i], -1) && !slices.ContainsFunc(others, func(other any) bool {
				return item.by == 'k' && item.matches(other, true) || item.selects(other, -1)
			}) {
				return true
			}
		}
		return false
	})
}
