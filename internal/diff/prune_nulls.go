package diff

import (
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/object"
)

// PruneNulls returns a copy of an object without the map values that are null. In a patch null
// deletes a field; an object that is created must not have nulls, or the first apply and the second
// would differ. Null list items stay.
func PruneNulls(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	out := obj.DeepCopy()
	pruneNulls(out.Object)
	return out
}

// WithoutNulls returns what PruneNulls does: the object itself if it has no map values that are
// null.
func WithoutNulls(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil || !hasNulls(obj.Object) {
		return obj
	}
	return PruneNulls(obj)
}

// WithoutItemNulls returns an object without the map values that are null in its lists, if they are
// replaced as a whole: a null in one deletes nothing, and the server may store it. Nulls of other
// maps delete fields, and so do those in lists whose items are merged.
func WithoutItemNulls(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if !hasNulls(obj.Object) {
		return obj
	}
	var meta strategicpatch.LookupPatchMeta
	if known, ok := builtin.PatchMeta(obj.GroupVersionKind()); ok {
		meta = known
	}
	out := obj.DeepCopy()
	pruneItemNulls(out.Object, meta)
	return out
}

// pruneItemNulls does so in a map. Meta is nil for one without merged lists.
func pruneItemNulls(fields map[string]any, meta strategicpatch.LookupPatchMeta) {
	for key, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			pruneItemNulls(v, structMeta(meta, key))
		case []any:
			inner, merged := mergedList(meta, key)
			if !merged {
				pruneNulls(v)
				continue
			}
			for _, item := range v {
				if item, isMap := item.(map[string]any); isMap {
					pruneItemNulls(item, inner)
				}
			}
		}
	}
}

// structMeta returns the metadata of a field that is a map, nil if there are none.
func structMeta(meta strategicpatch.LookupPatchMeta, key string) strategicpatch.LookupPatchMeta {
	if meta == nil {
		return nil
	}
	inner, _, err := meta.LookupPatchMetadataForStruct(key)
	if err != nil {
		return nil
	}
	return inner
}

// mergedList returns the metadata of the items of a list that merges by key.
func mergedList(
	meta strategicpatch.LookupPatchMeta, key string,
) (_ strategicpatch.LookupPatchMeta, ok bool) {
	if meta == nil {
		return nil, false
	}
	inner, how, err := meta.LookupPatchMetadataForSlice(key)
	if err != nil || how.GetPatchMergeKey() == "" {
		return nil, false
	}
	return inner, slices.Contains(how.GetPatchStrategies(), "merge")
}

// HasStoredNulls reports whether an object has map values that are null and that the server may
// store: it does so in custom resources, where the schema says nothing else.
func HasStoredNulls(obj *unstructured.Unstructured) bool {
	if hasStatusRequests(obj) { // a kind of Kubernetes
		return false
	}
	return hasNulls(without(obj.Object, "metadata", "status"))
}

func hasNulls(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if item == nil || hasNulls(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNulls)
	}
	return false
}

func pruneNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, item any) bool { return item == nil })
		for _, item := range v {
			pruneNulls(item)
		}
	case []any:
		for _, item := range v {
			pruneNulls(item)
		}
	}
}

// WithEncodedData returns an object with the stringData of a Secret in data, encoded, as the server
// stores it. The object may be nil; it is not changed.
func WithEncodedData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil || obj.Object["stringData"] == nil {
		return obj
	}
	obj = obj.DeepCopy()
	foldStringData(obj)
	return obj
}

// foldStringData moves stringData of a Secret into data, encoded, as the server does.
func foldStringData(obj *unstructured.Unstructured) {
	plain, ok := obj.Object["stringData"].(map[string]any)
	if !ok || !object.IsSecret(obj) {
		return
	}
	data := fieldsOf(obj.Object, "data")
	if data == nil && obj.Object["data"] != nil {
		return // the server refuses it
	}
	encoded := make(map[string]any, len(data)+len(plain))
	maps.Copy(encoded, data)
	for key, value := range plain {
		if value == nil {
			continue
		}
		s, ok := value.(string)
		if !ok {
			return
		}
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	delete(obj.Object, "stringData")
	if len(encoded) > 0 {
		obj.Object["data"] = encoded
	}
}
