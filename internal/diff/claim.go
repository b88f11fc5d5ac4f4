package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ClaimPatch returns the patch that makes a manager the only applier of fields of a live object,
// and changes nothing else: its next apply without the fields removes them. It is valid for the
// resource version of live only.
func ClaimPatch(
	live *unstructured.Unstructured, fields []ContestedField, manager string,
) (Patch, error) {
	claimed := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
		Time: &metav1.Time{Time: time.Now().UTC().Truncate(time.Second)},
	}
	taken := fieldpath.NewSet()
	for _, field := range fields {
		taken.Insert(field.path)
	}
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return Patch{}, err
		}
		if isOf(entry, manager, claimed.APIVersion) && entry.Operation == claimed.Operation {
			taken = taken.Union(set)
			continue
		}
		for _, field := range fields {
			members := membersBelow(set, field.path)
			set, taken = set.Difference(members), taken.Union(members)
		}
		if set.Empty() {
			continue
		}
		if err := setFields(&entry, set); err != nil {
			return Patch{}, err
		}
		entries = append(entries, entry)
	}
	if err := setFields(&claimed, taken); err != nil {
		return Patch{}, err
	}
	return managedFieldsPatch(live, slices.Insert(entries, 0, claimed))
}

// RestoredPatch returns the patch that moves the fields which a manager owns by Update to its
// ownership by Apply, as far as a described object has them; others are nobody's after it. If the
// described object is nil, all are moved. It is zero if there are none, and valid for the resource
// version of live only.
func RestoredPatch(live, described *unstructured.Unstructured, manager string) (Patch, error) {
	updated := fieldpath.NewSet()
	var entries []metav1.ManagedFieldsEntry
	at := -1 // of the entry of the applier
	for _, entry := range live.GetManagedFields() {
		own := isOf(entry, manager, live.GetAPIVersion())
		switch {
		case own && entry.Operation == metav1.ManagedFieldsOperationUpdate:
			set, err := managedSet(entry)
			if err != nil {
				return Patch{}, err
			}
			updated = updated.Union(set)
			continue
		case own:
			at = len(entries)
		}
		entries = append(entries, entry)
	}
	if updated.Empty() || at < 0 {
		return Patch{}, nil
	}
	applied, err := managedSet(entries[at])
	if err != nil {
		return Patch{}, err
	}
	values := &lookups{}
	updated.Iterate(func(path fieldpath.Path) {
		has := described == nil
		if !has {
			_, has = values.valueAt(described.Object, path)
		}
		if has {
			applied.Insert(path.Copy())
		}
	})
	if err := setFields(&entries[at], applied); err != nil {
		return Patch{}, err
	}
	return managedFieldsPatch(live, entries)
}

// managedFieldsPatch returns the patch that sets the managed fields of a live object.
func managedFieldsPatch(
	live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry,
) (Patch, error) {
	data, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return Patch{}, fmt.Errorf("write managed fields: %w", err)
	}
	return Patch{Type: types.JSONPatchType, Data: data}, nil
}

// setFields sets the fields of an entry.
func setFields(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) error {
	text, err := set.ToJSON()
	if err != nil {
		return fmt.Errorf("write managed fields: %w", err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(text))
	return nil
}

// ApplyResult returns the patch that changes a live object as a server-side apply of want does
// after a ClaimPatch of the fields: a dry run of it shows the result.
func ApplyResult(
	want, live *unstructured.Unstructured, claimed []ContestedField, by Applier,
) (Patch, error) {
	patch, _, err := afterApply(want, live, claimed, by)
	return patch, err
}

// AfterApply returns a live object as a server-side apply of want leaves it, as far as known
// without the server.
func AfterApply(
	want, live *unstructured.Unstructured, by Applier,
) (*unstructured.Unstructured, error) {
	_, after, err := afterApply(want, live, nil, by)
	return after, err
}

func afterApply(
	want, live *unstructured.Unstructured, claimed []ContestedField, by Applier,
) (Patch, *unstructured.Unstructured, error) {
	owners, _, err := readFieldSets(live, by.owns(live))
	if err != nil {
		return Patch{}, nil, err
	}
	applied, _ := owners.alone(live.Object).(map[string]any)
	paths := make([]fieldpath.Path, len(claimed))
	for i, field := range claimed {
		paths[i] = field.path
	}
	recorded := sides{recorded: applied, live: live.Object}.recording(paths).recorded
	return ThreeWay(&unstructured.Unstructured{Object: recorded}, want, live)
}
