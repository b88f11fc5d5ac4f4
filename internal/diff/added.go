package diff

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WithAdded returns a desired object with what others have added to the labels, annotations,
// finalizers and data of the live one, where these were applied and the desired one lacks them: a
// merge would remove them as a whole. It is the desired object itself if there is nothing.
func WithAdded(want, applied, live *unstructured.Unstructured) *unstructured.Unstructured {
	if want == nil || applied == nil || live == nil {
		return want
	}
	paths := [][]string{
		{"metadata", "labels"}, {"metadata", "annotations"}, {"metadata", "finalizers"},
	}
	kind := want.GroupVersionKind().GroupKind()
	if kind == (schema.GroupKind{Kind: "ConfigMap"}) || kind == (schema.GroupKind{Kind: "Secret"}) {
		paths = append(paths, []string{"data"}, []string{"binaryData"})
	}
	kept := want
	for _, path := range paths {
		_, described, _ := unstructured.NestedFieldNoCopy(want.Object, path...)
		before, known, _ := unstructured.NestedFieldNoCopy(applied.Object, path...)
		now, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		added := addedTo(before, now)
		if described || !known || added == nil {
			continue
		}
		if kept == want {
			kept = want.DeepCopy()
		}
		// The parents of the field are maps, or it has none.
		_ = unstructured.SetNestedField(kept.Object, added, path...)
	}
	return kept
}

// addedTo returns what is new in a map or in a list of texts; nil for nothing.
func addedTo(before, now any) any {
	switch now := now.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		added := map[string]any{}
		for key, value := range now {
			if _, has := was[key]; !has {
				added[key] = value
			}
		}
		if len(added) > 0 {
			return added
		}
	case []any:
		was, _ := before.([]any)
		added := slices.DeleteFunc(slices.Clone(now), func(item any) bool {
			return slices.Contains(was, item)
		})
		if len(added) > 0 {
			return added
		}
	}
	return nil
}
