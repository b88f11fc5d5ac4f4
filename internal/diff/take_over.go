package diff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldSet is a set of fields of an object, as managed fields name them.
type FieldSet = fieldpath.Set

// IsMarkedByOthers reports whether managers other than one have applied a label or an annotation,
// a field and a key of the metadata, of a live object.
func IsMarkedByOthers(live *unstructured.Unstructured, manager, field, key string) bool {
	others := slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager || e.Subresource != ""
	})
	path := fieldpath.MakePathOrDie("metadata", field, key)
	return len(csaupgrade.FindFieldsOwners(others, metav1.ManagedFieldsOperationApply,
		fieldpath.NewSet(path))) > 0
}

// Released returns the fields of a live object that have managers, and that neither the result of
// an update nor what is sent for it has.
func Released(live, result, sent *unstructured.Unstructured) (*FieldSet, error) {
	released, inLive, inResult, inSent := fieldpath.NewSet(), &lookups{}, &lookups{}, &lookups{}
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		set.Iterate(func(path fieldpath.Path) {
			_, has := inLive.valueAt(live.Object, path)
			_, stays := inResult.valueAt(result.Object, path)
			if _, sends := inSent.valueAt(sent.Object, path); has && !stays && !sends {
				released.Insert(path.Copy())
			}
		})
	}
	return released, nil
}

// WithoutFields returns a copy of an object without some fields and list items, and without the
// maps and lists that they leave empty.
func WithoutFields(obj *unstructured.Unstructured, fields *FieldSet) *unstructured.Unstructured {
	left := obj.DeepCopy()
	fields.Iterate(func(path fieldpath.Path) { withoutPath(left.Object, path) })
	return left
}

// withoutPath removes a path from a map or a list, which it may change, and returns what is left.
func withoutPath(value any, path fieldpath.Path) any {
	switch value := value.(type) {
	case map[string]any:
		if path[0].FieldName == nil {
			return value
		}
		name := *path[0].FieldName
		inner, has := value[name]
		if !has {
			return value
		}
		if len(path) > 1 {
			value[name] = withoutPath(inner, path[1:])
		}
		if len(path) == 1 || !isEmptyValue(inner) && isEmptyValue(value[name]) {
			delete(value, name)
		}
		return value
	case []any:
		at := indexOf(value, path[0])
		switch {
		case at < 0:
		case len(path) == 1:
			return slices.Delete(value, at, at+1)
		default:
			value[at] = withoutPath(value[at], path[1:])
		}
		return value
	default:
		return value
	}
}

// isEmptyValue reports whether a value is a map or a list without content.
func isEmptyValue(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// TakeOverPatch returns the patch that moves the fields of client-side managers, and those of all
// managers that are to be released, to the ownership of a manager by Apply: its next apply removes
// what it lacks of them. It is zero if there are none, and valid for the resource version of live
// only.
func TakeOverPatch(
	live *unstructured.Unstructured, managers sets.Set[string], manager string,
	released *FieldSet,
) (Patch, error) {
	before := live.GetManagedFields()
	entries, taken, err := withoutReleased(before, released, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager ||
			e.Operation == metav1.ManagedFieldsOperationUpdate && managers.Has(e.Manager)
	})
	if err != nil {
		return Patch{}, err
	}
	moved := &unstructured.Unstructured{Object: map[string]any{}}
	moved.SetManagedFields(entries)
	if err := csaupgrade.UpgradeManagedFields(moved, managers, manager); err != nil {
		return Patch{}, fmt.Errorf("move managed fields: %w", err)
	}
	entries = moved.GetManagedFields()
	if !taken.Empty() {
		if entries, err = withApplied(entries, manager, live.GetAPIVersion(), taken); err != nil {
			return Patch{}, err
		}
	}
	if reflect.DeepEqual(before, entries) {
		return Patch{}, nil
	}
	data, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return Patch{}, fmt.Errorf("move managed fields: %w", err)
	}
	return Patch{Type: types.JSONPatchType, Data: data}, nil
}

// withoutReleased returns entries of managed fields without the released fields, except those that
// stay, and the fields that the others had of these.
func withoutReleased(
	entries []metav1.ManagedFieldsEntry, released *fieldpath.Set,
	stays func(metav1.ManagedFieldsEntry) bool,
) (left []metav1.ManagedFieldsEntry, taken *fieldpath.Set, err error) {
	taken = fieldpath.NewSet()
	if released == nil || released.Empty() {
		return entries, taken, nil
	}
	for _, entry := range entries {
		if entry.Subresource != "" || entry.FieldsV1 == nil || stays(entry) {
			left = append(left, entry)
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, nil, err
		}
		if theirs := set.Intersection(released); !theirs.Empty() {
			taken = taken.Union(theirs)
			entry = *entry.DeepCopy()
			if err := setFields(&entry, set.Difference(released)); err != nil {
				return nil, nil, err
			}
		}
		if !isEmptySet(entry) {
			left = append(left, entry)
		}
	}
	return left, taken, nil
}

// withApplied returns entries of managed fields in which a manager owns more fields by Apply.
func withApplied(
	entries []metav1.ManagedFieldsEntry, manager, version string, fields *fieldpath.Set,
) ([]metav1.ManagedFieldsEntry, error) {
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return isOf(e, manager, version) && e.Operation == metav1.ManagedFieldsOperationApply
	})
	if i < 0 {
		i = len(entries)
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
		})
	}
	own, err := managedSet(entries[i])
	if err != nil {
		return nil, err
	}
	return entries, setFields(&entries[i], own.Union(fields))
}
