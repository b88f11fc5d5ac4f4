package diff

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ManagersOf returns the managers that own one of some labels or annotations of a live object.
func ManagersOf(live *unstructured.Unstructured, labels, annotations []string) []string {
	var found []string
	for field, keys := range map[string][]string{"labels": labels, "annotations": annotations} {
		for _, key := range keys {
			path := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", field, key))
			for _, operation := range []metav1.ManagedFieldsOperationType{
				metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate,
			} {
				owners := csaupgrade.FindFieldsOwners(live.GetManagedFields(), operation, path)
				for _, owner := range owners {
					found = append(found, owner.Manager)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// MoveManagers returns the managed fields of an object with the fields that some managers own moved
// to the updates of another one. The moved entries are returned as they were.
func MoveManagers(
	entries []metav1.ManagedFieldsEntry, from []string, to string,
) (after, moved []metav1.ManagedFieldsEntry, err error) {
	for _, entry := range entries {
		own := entry.Manager == to && entry.Operation == metav1.ManagedFieldsOperationUpdate
		if own || entry.Subresource != "" || entry.FieldsV1 == nil ||
			!slices.Contains(from, entry.Manager) {
			after = append(after, entry)
			continue
		}
		moved = append(moved, entry)
	}
	for _, entry := range moved {
		target := updatesOf(&after, to, entry)
		if err := change(target, entry, unionOfStored); err != nil {
			return nil, nil, err
		}
	}
	return after, moved, nil
}

// ReturnManagers returns the managed fields of an object with the fields of moved entries returned
// to their managers, as far as the manager that they moved to still owns them: it may have applied
// them since.
func ReturnManagers(
	entries, moved []metav1.ManagedFieldsEntry, from string,
) ([]metav1.ManagedFieldsEntry, error) {
	after := slices.Clone(entries)
	for _, entry := range moved {
		returned := *entry.DeepCopy()
		returned.FieldsV1 = metav1.NewFieldsV1("{}")
		for i := range after {
			if !isOf(after[i], from, entry.APIVersion) {
				continue
			}
			owned := *entry.DeepCopy()
			err := change(&owned, after[i], (*fieldpath.Set).Intersection)
			if err == nil {
				err = change(&returned, owned, (*fieldpath.Set).Union)
			}
			if err == nil {
				err = change(&after[i], entry, (*fieldpath.Set).Difference)
			}
			if err != nil {
				return nil, err
			}
		}
		after = append(slices.DeleteFunc(after, func(e metav1.ManagedFieldsEntry) bool {
			return isOf(e, from, entry.APIVersion) && isEmptySet(e)
		}), returned)
	}
	return slices.DeleteFunc(after, func(e metav1.ManagedFieldsEntry) bool {
		return slices.ContainsFunc(moved, func(m metav1.ManagedFieldsEntry) bool {
			return isOf(e, m.Manager, m.APIVersion) && isEmptySet(e)
		})
	}), nil
}

// isOf reports whether an entry is a manager's, in a version.
func isOf(e metav1.ManagedFieldsEntry, manager, version string) bool {
	return e.Manager == manager && e.Subresource == "" && e.APIVersion == version && e.FieldsV1 != nil
}

// unionOfStored returns the union of sets of fields, without those of the second that objects do
// not store: nobody could update them, and an apply would conflict with them for ever.
func unionOfStored(a, b *fieldpath.Set) *fieldpath.Set {
	stored := fieldpath.NewSet()
	b.Iterate(func(path fieldpath.Path) {
		if path[0].FieldName == nil || *path[0].FieldName != stringData {
			stored.Insert(path.Copy())
		}
	})
	return a.Union(stored)
}

// stringData is a field that Secrets take and do not store.
const stringData = "stringData"

// updatesOf returns the entry of a manager's updates in the version of another entry, adding an
// empty one if there is none.
func updatesOf(
	entries *[]metav1.ManagedFieldsEntry, manager string, like metav1.ManagedFieldsEntry,
) *metav1.ManagedFieldsEntry {
	i := slices.IndexFunc(*entries, func(e metav1.ManagedFieldsEntry) bool {
		return isOf(e, manager, like.APIVersion) && e.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if i < 0 {
		i = len(*entries)
		*entries = append(*entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: like.APIVersion, Time: like.Time, FieldsType: like.FieldsType,
			FieldsV1: metav1.NewFieldsV1("{}"),
		})
	}
	return &(*entries)[i]
}

// change combines the fields of an entry with those of another one.
func change(
	entry *metav1.ManagedFieldsEntry, other metav1.ManagedFieldsEntry,
	combine func(a, b *fieldpath.Set) *fieldpath.Set,
) error {
	own, err := managedSet(*entry)
	if err != nil {
		return err
	}
	others, err := managedSet(other)
	if err != nil {
		return err
	}
	return setFields(entry, combine(own, others))
}

func isEmptySet(entry metav1.ManagedFieldsEntry) bool {
	set, err := managedSet(entry)
	return err == nil && set.Empty()
}
