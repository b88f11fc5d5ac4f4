package diff

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Owned gives the fields of a live object that a manager owns through server-side apply, with their live values: what its entry
// in metadata.managedFields lists, if it has one with operation Apply for the object itself (no subresource) in the version in
// which live was read. ok is false if it has none. Fields that are listed but gone are left out, and so are the fields that
// identify the object, which are never listed. The result shares nothing with live.
func Owned(live *unstructured.Unstructured, manager string) (owned map[string]any, ok bool, err error) {
	sets, ok, err := ownership(live, manager)
	if err != nil || !ok {
		return nil, false, err
	}
	owned = map[string]any{}
	if value, ok := extract(sets.mine, live.Object); ok && !sets.mine.isLeaf() {
		owned, _ = value.(map[string]any)
	}
	return owned, true, nil
}

// fieldSets tells what one manager applied from what all others own.
type fieldSets struct{ mine, others *fieldSet }

// ownership reads the managed fields of an object; ok is false if the manager has not applied it.
func ownership(live *unstructured.Unstructured, manager string) (sets fieldSets, ok bool, err error) {
	sets = fieldSets{mine: &fieldSet{}, others: &fieldSet{}}
	entries, _, err := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	if err != nil {
		return sets, false, fmt.Errorf("read managed fields: %w", err)
	}
	list, _ := entries.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		set := sets.others
		if isApplied(entry, live.GetAPIVersion(), manager) {
			set, ok = sets.mine, true
		}
		if err := set.add(fieldsOf(entry, "fieldsV1")); err != nil {
			return sets, false, fmt.Errorf("read managed fields of %q: %w", entry["manager"], err)
		}
	}
	return sets, ok, nil
}

func isApplied(entry map[string]any, version, manager string) bool {
	subresource, _ := entry["subresource"].(string)
	return entry["manager"] == manager && entry["operation"] == "Apply" && entry["apiVersion"] == version && subresource == ""
}

// extract gives the part of a value that a set lists; ok is false if nothing of it is there.
func extract(set *fieldSet, value any) (part any, ok bool) {
	if set.isLeaf() {
		return runtime.DeepCopyJSONValue(value), true
	}
	switch v := value.(type) {
	case map[string]any:
		return extractFields(set, v), true
	case []any:
		return extractItems(set, v), true
	}
	return nil, false
}

func extractFields(set *fieldSet, fields map[string]any) map[string]any {
	out := map[string]any{}
	for name, child := range set.fields {
		value, ok := fields[name]
		if !ok {
			continue
		}
		if part, ok := extract(child, value); ok {
			out[name] = part
		}
	}
	return out
}

func extractItems(set *fieldSet, list []any) []any {
	out := []any{}
	for i, value := range list {
		for _, item := range set.items {
			if !item.is(value, i) {
				continue
			}
			if part, ok := extract(&item.fieldSet, value); ok {
				out = append(out, part)
			}
			break
		}
	}
	return out
}
