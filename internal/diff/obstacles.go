package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// obstacle is a field or a list item of a live object that cannot be beside others of the desired
// one, which lacks it. Rivals are the places of these.
type obstacle struct {
	path   fieldpath.Path
	rivals []fieldpath.Path
}

// obstacles returns the fields and list items of a live object that cannot be beside those of the
// desired one, which lacks them: other members of unions, and items with the unique values of
// desired ones.
func (m merge) obstacles(in sides) (found []obstacle) {
	if m.of != nil {
		findObstacles(in, m.of, nil, &found)
	}
	return found
}

// Obstacles returns the fields and list items of a live object that cannot be beside those of a
// desired one, which lacks them, with their owners, for a server-side apply by a manager. Base is
// what was applied last; nil if unknown. Those that the manager alone has applied are left out,
// since the apply removes them.
func Obstacles(c Comparison) (found []ContestedField, err error) {
	if c.Live.GetAPIVersion() != c.Want.GetAPIVersion() || sameObject(c.Want, c.Live) != nil {
		return nil, nil
	}
	defer recoverError(&err)
	in := sidesOf(c.Base, c.Want, c.Live)
	all := mergeFor(c.Want).obstacles(in)
	owned, err := appliedAlone(c.Live, c.Manager)
	if err != nil {
		return nil, err
	}
	alone := in.surplus(c.TooMany, ownedByOthers(c.Live, c.Manager))
	if !c.KeepFormerNames {
		alone = append(alone, formerNames(sidesOf(owned, WithoutNulls(c.Want), c.Live), c.Want)...)
	}
	for _, path := range alone {
		all = append(all, obstacle{path: path})
	}
	for _, o := range all {
		path := o.path
		field := ContestedField{Field: path.String(), path: path, rivals: o.rivals}
		applied := false
		for _, entry := range c.Live.GetManagedFields() {
			if entry.FieldsV1 == nil {
				continue
			}
			set, err := managedSet(entry)
			if err != nil {
				return nil, err
			}
			switch {
			case membersBelow(set, path).Empty():
			case c.isOwn(entry):
				applied = entry.APIVersion == c.Want.GetAPIVersion()
			default:
				field.Owners = append(field.Owners, ownerOf(entry))
			}
		}
		if !applied || len(field.Owners) > 0 {
			found = append(found, field)
		}
	}
	return found, nil
}

// pathsOf returns the paths of obstacles.
func pathsOf(obstacles []obstacle) (paths []fieldpath.Path) {
	for _, o := range obstacles {
		paths = append(paths, o.path)
	}
	return paths
}

// membersBelow returns the members of a set at a path and below it.
func membersBelow(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	members := fieldpath.NewSet()
	set.Iterate(func(member fieldpath.Path) {
		if len(member) >= len(path) && member[:len(path)].Equals(path) {
			members.Insert(member.Copy())
		}
	})
	return members
}

func findObstacles(
	in sides, meta strategicpatch.LookupPatchMeta, path fieldpath.Path, found *[]obstacle,
) {
	for _, name := range builtin.Rivals(meta, in.want, in.live) {
		o := obstacle{path: below(path, fieldpath.PathElement{FieldName: &name})}
		for _, rival := range builtin.SameUnion(meta, in.want, name) {
			o.rivals = append(o.rivals, below(path, fieldpath.PathElement{FieldName: &rival}))
		}
		*found = append(*found, o)
	}
	for _, key := range slices.Sorted(maps.Keys(in.want)) {
		at := fieldpath.PathElement{FieldName: &key}
		switch want := in.want[key].(type) {
		case map[string]any:
			inner, _, err := meta.LookupPatchMetadataForStruct(key)
			if live := fieldsOf(in.live, key); err == nil && live != nil {
				findObstacles(sides{fieldsOf(in.recorded, key), want, live}, inner, below(path, at), found)
			}
		case []any:
			if l, inner, ok := keyedListOf(in, key, meta); ok {
				l.findObstacles(inner, below(path, at), found)
			}
		}
	}
}

// below returns a path with another element.
func below(path fieldpath.Path, element fieldpath.PathElement) fieldpath.Path {
	return append(path.Copy(), element)
}

// maxPairs limits how many pairs of items of two lists are compared to find those that belong
// together in another place, or are refused beside each other. Lists that people write have fewer.
const maxPairs = 1_000_000

// findObstacles does the same in the items of a list, and for the items themselves. Of items that
// are identified alike it finds the obstacles in the first one, which alone a path can select.
func (l keyedList) findObstacles(
	meta strategicpatch.LookupPatchMeta, path fieldpath.Path, found *[]obstacle,
) {
	recorded, live := l.match(l.want, l.recorded), l.match(l.want, l.live)
	index := l.index(l.live)
	for i, at := range live {
		if at < 0 || !l.isFirst(index, at) {
			continue
		}
		item := sides{itemAt(l.recorded, recorded[i]), itemAt(l.want, i), itemAt(l.live, at)}
		if element, ok := l.element(item.live); ok {
			findObstacles(item, meta, below(path, element), found)
		}
	}
	l.findRefused(live, path, found)
}

// isFirst reports whether no earlier live item is identified like one.
func (l keyedList) isFirst(index map[identity][]int, at int) bool {
	all := index[l.identity(l.live[at])]
	first := slices.IndexFunc(all, func(j int) bool { return l.same(l.live[j], l.live[at]) })
	return first < 0 || all[first] == at
}

// findRefused finds the live items that the server refuses beside desired ones, whose own live
// items are given: most often somebody has changed the key of a desired item. One that is merely
// like a missing item is left, since it may be of somebody else.
func (l keyedList) findRefused(live []int, path fieldpath.Path, found *[]obstacle) {
	if len(l.items.Unique)+len(l.items.Alone) == 0 || len(l.want)*len(l.live) > maxPairs {
		return
	}
	applied, paired := l.match(l.live, l.recorded), l.paired(live)
	for j := range l.live {
		have := itemAt(l.live, j)
		element, ok := l.element(have)
		if !ok || paired[j] || applied[j] >= 0 {
			continue
		}
		o := obstacle{path: below(path, element)}
		refused := false
		for i, at := range live {
			want := itemAt(l.want, i)
			if !l.collides(want, have) && (at >= 0 || !l.excludes(want, have)) {
				continue
			}
			refused = true
			if rival, ok := l.element(want); ok {
				o.rivals = append(o.rivals, below(path, rival))
			}
		}
		if refused {
			*found = append(*found, o)
		}
	}
}

// element returns the path element that selects a live item; ok is false if a key is missing.
func (l keyedList) element(item map[string]any) (_ fieldpath.PathElement, ok bool) {
	var keys value.FieldList
	for _, name := range slices.Sorted(maps.Keys(l.items.Keys)) {
		key := item[name]
		if key == nil {
			key = l.items.Keys[name]
		}
		if key == nil {
			return fieldpath.PathElement{}, false
		}
		keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(key)})
	}
	return fieldpath.PathElement{Key: &keys}, true
}

// excludes reports whether one of two items must be the only one of the list.
func (l keyedList) excludes(want, live map[string]any) bool {
	return slices.ContainsFunc(l.items.Alone, func(name string) bool {
		return want[name] == nil || live[name] == nil
	})
}

// collides reports whether two items agree in fields that are unique in the list.
func (l keyedList) collides(want, live map[string]any) bool {
	return slices.ContainsFunc(l.items.Unique, func(fields []string) bool {
		first := want[fields[0]]
		return first != nil && !jsonvalue.Equal(first, int64(0)) && l.agree(fields, want, live)
	})
}

// recording returns the sides with fields of the live object added to what was recorded, so that
// the merge removes them.
func (s sides) recording(paths []fieldpath.Path) sides {
	if len(paths) == 0 {
		return s
	}
	s.recorded = runtime.DeepCopyJSON(s.recorded)
	if s.recorded == nil {
		s.recorded = map[string]any{}
	}
	for _, path := range paths {
		value, _ := valueAt(s.live, path)
		insertAt(s.recorded, path, runtime.DeepCopyJSONValue(value))
	}
	return s
}

// insertAt sets the value at a path of maps and list items with keys, and adds those that are
// missing.
func insertAt(fields map[string]any, path fieldpath.Path, value any) {
	name := *path[0].FieldName
	switch {
	case len(path) == 1:
		fields[name] = value
	case path[1].Key == nil:
		inner, isMap := fields[name].(map[string]any)
		if !isMap {
			inner = map[string]any{}
			fields[name] = inner
		}
		insertAt(inner, path[1:], value)
	default:
		list, _ := fields[name].([]any)
		at := indexOf(list, path[1])
		if at < 0 || len(path) == 2 { // an item that was not recorded
			item := map[string]any{}
			for _, key := range *path[1].Key {
				item[key.Name] = key.Value.Unstructured()
			}
			at, list = len(list), append(list, item)
			fields[name] = list
		}
		if item, isMap := list[at].(map[string]any); isMap && len(path) > 2 {
			insertAt(item, path[2:], value)
		}
	}
}
