package diff

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// surplus returns the fields of a live object that a server refuses beside those of a desired one:
// those that are named as too many, and those in maps that would have too many fields. They are
// other members of unions of custom resources. A map with several such fields is left out: it is
// not known which of them can stay. Theirs reports whether others have set a field.
func (s sides) surplus(tooMany []string, theirs func(fieldpath.Path) bool) (
	paths []fieldpath.Path,
) {
	for _, name := range tooMany {
		at, in, path := s, sides{}, fieldpath.Path{}
		for field := range strings.SplitSeq(name, ".") {
			at, in, path = at.field(field), at, below(path, fieldpath.PathElement{FieldName: &field})
		}
		found := at.added(path, theirs)
		if len(at.want) == 0 {
			found = slices.DeleteFunc(in.added(path[:len(path)-1], theirs), func(p fieldpath.Path) bool {
				return !p.Equals(path)
			})
		}
		if len(found) == 1 {
			paths = append(paths, found[0])
		}
	}
	return paths
}

// field returns the sides of a field.
func (s sides) field(name string) sides {
	return sides{fieldsOf(s.recorded, name), fieldsOf(s.want, name), fieldsOf(s.live, name)}
}

// added returns the fields that others have added to a map at a path.
func (s sides) added(path fieldpath.Path, theirs func(fieldpath.Path) bool) (
	added []fieldpath.Path,
) {
	for _, key := range slices.Sorted(maps.Keys(s.live)) {
		_, wanted := s.want[key]
		_, applied := s.recorded[key]
		at := below(path, fieldpath.PathElement{FieldName: &key})
		if !wanted && !applied && theirs(at) {
			added = append(added, at)
		}
	}
	return added
}

// ownedByOthers returns a function that reports whether others than a manager have set a field of a
// live object, or something in it. Without managed fields that may be any.
func ownedByOthers(live *unstructured.Unstructured, manager string) func(fieldpath.Path) bool {
	if len(live.GetManagedFields()) == 0 {
		return func(fieldpath.Path) bool { return true }
	}
	others := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil || entry.Manager == manager || entry.Subresource != "" {
			continue
		}
		if set, err := managedSet(entry); err == nil {
			others = others.Union(set)
		}
	}
	return func(path fieldpath.Path) bool { return !membersBelow(others, path).Empty() }
}

// WithSurplus returns what was applied last, which may be nil, with the fields of a live object
// that a server refuses beside those of a desired one, so that a merge removes them: of others than
// the manager, in maps that would have too many fields.
func WithSurplus(
	applied, want, live *unstructured.Unstructured, manager string, tooMany []string,
) *unstructured.Unstructured {
	if len(tooMany) == 0 {
		return applied
	}
	in := sidesOf(applied, want, live)
	paths := in.surplus(tooMany, ownedByOthers(live, manager))
	if len(paths) == 0 {
		return applied
	}
	return &unstructured.Unstructured{Object: in.recording(paths).recorded}
}

// Beside returns the fields that others than a manager have added to a live custom resource, with
// managed fields, in maps of which a desired object has other fields: the server may refuse these
// beside them. Of built-in kinds it returns none: their unions are known. Applied is what was
// applied last; nil if unknown.
func Beside(
	applied, want, live *unstructured.Unstructured, manager string,
) (found []ContestedField, err error) {
	if mergeFor(want).of != nil || len(live.GetManagedFields()) == 0 {
		return nil, nil
	}
	theirs := ownedByOthers(live, manager)
	var visit func(at sides, path fieldpath.Path)
	visit = func(at sides, path fieldpath.Path) {
		for _, path := range at.added(path, theirs) {
			found = append(found, ContestedField{Field: path.String(), path: path})
		}
		for _, key := range slices.Sorted(maps.Keys(at.want)) {
			if inner := at.field(key); len(inner.want) > 0 {
				visit(inner, below(path, fieldpath.PathElement{FieldName: &key}))
			}
		}
	}
	in := sidesOf(applied, want, live)
	for _, key := range slices.Sorted(maps.Keys(in.want)) {
		if inner := in.field(key); len(inner.want) > 0 && key != "metadata" {
			visit(inner, fieldpath.MakePathOrDie(key))
		}
	}
	for i := range found {
		if found[i].Owners, err = ownersBelow(live, found[i].path, manager); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// ownersBelow returns the managers other than one that have set a field or something in it.
func ownersBelow(
	live *unstructured.Unstructured, path fieldpath.Path, manager string,
) (owners []FieldOwner, err error) {
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil || entry.Manager == manager || entry.Subresource != "" {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		if !membersBelow(set, path).Empty() {
			owners = append(owners, ownerOf(entry))
		}
	}
	return owners, nil
}

// Name returns the names of a field that is in no list, in the form spec.source.
func (f ContestedField) Name() string { return strings.TrimPrefix(f.Field, ".") }
