package diff

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Owners returns the managers that own a field of a live object, from its managed fields. The field
// has the form of the server's conflict messages: .spec.ports[name="http"].port.
func Owners(live *unstructured.Unstructured, field string) ([]FieldOwner, error) {
	var owners []FieldOwner
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		owns := false
		set.Iterate(func(path fieldpath.Path) { owns = owns || path.String() == field })
		if owns {
			owners = append(owners, ownerOf(entry))
		}
	}
	return owners, nil
}

// IsApplier reports whether a manager has applied fields of a live object.
func IsApplier(live *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// HasUpdated reports whether a manager owns fields of a live object by updates.
func HasUpdated(live *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Subresource == "" &&
			e.Operation == metav1.ManagedFieldsOperationUpdate
	})
}

// OwnsSame reports whether a manager owns after an apply the fields that it owned before, by
// whichever operations, and was an applier before. Adopted updates do not count after the apply:
// the manager has become the applier of these fields, and the apply releases those that it lacks.
func OwnsSame(
	manager string, before, after *unstructured.Unstructured, adopted bool,
) (bool, error) {
	if IsApplier(before, manager) != IsApplier(after, manager) {
		return false, nil
	}
	was, err := ownFields(manager, before, false)
	if err != nil {
		return false, err
	}
	is, err := ownFields(manager, after, adopted)
	return err == nil && was.Equals(is), err
}

// ownFields returns the fields of an object that a manager owns, or only those that it has applied.
func ownFields(
	manager string, obj *unstructured.Unstructured, applied bool,
) (*fieldpath.Set, error) {
	owned := fieldpath.NewSet()
	for _, entry := range obj.GetManagedFields() {
		if !isOf(entry, manager, obj.GetAPIVersion()) ||
			applied && entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		owned = owned.Union(set)
	}
	return owned, nil
}

// ClientSideManagers returns the managers that applied a live object client-side: those that own,
// by Update, the last-applied annotation. A server-side apply removes their fields only after these
// have moved to its own manager.
func ClientSideManagers(live *unstructured.Unstructured, annotation string) sets.Set[string] {
	found := sets.New[string]()
	for _, entry := range annotationOwners(live, annotation, metav1.ManagedFieldsOperationUpdate) {
		if entry.Subresource == "" {
			found.Insert(entry.Manager)
		}
	}
	return found
}

// IsAnnotationApplied reports whether a manager owns an annotation of a live object by server-side
// apply.
func IsAnnotationApplied(live *unstructured.Unstructured, annotation string) bool {
	return len(annotationOwners(live, annotation, metav1.ManagedFieldsOperationApply)) > 0
}

// UpgradePatch returns the patch that moves the fields of client-side managers to a manager of
// server-side apply; zero if there are none. It is valid for the resource version of live only.
func UpgradePatch(
	live *unstructured.Unstructured, managers sets.Set[string], manager string,
) (Patch, error) {
	data, err := csaupgrade.UpgradeManagedFieldsPatch(live, managers, manager)
	if err != nil || data == nil {
		return Patch{}, err
	}
	return Patch{Type: types.JSONPatchType, Data: json.RawMessage(data)}, nil
}

// WithUpdatesApplied returns a copy of an object in which a manager owns by Apply what it owned by
// Update, as after TakeOverPatch.
func WithUpdatesApplied(
	live *unstructured.Unstructured, manager string,
) (*unstructured.Unstructured, error) {
	if !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate
	}) {
		return live, nil
	}
	upgraded := live.DeepCopy()
	return upgraded, csaupgrade.UpgradeManagedFields(upgraded, sets.New(manager), manager)
}

func annotationOwners(
	live *unstructured.Unstructured, key string, operation metav1.ManagedFieldsOperationType,
) []metav1.ManagedFieldsEntry {
	path := fieldpath.MakePathOrDie("metadata", "annotations", key)
	return csaupgrade.FindFieldsOwners(live.GetManagedFields(), operation, fieldpath.NewSet(path))
}
