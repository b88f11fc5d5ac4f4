package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// WithMetadata returns a copy of obj with the metadata that change makes of it. The function may
// modify the map it gets, and the maps of labels and annotations in it; the copy shares all other
// values with obj. An object without metadata gets some if change sets a field.
func WithMetadata(
	obj *unstructured.Unstructured, change func(metadata map[string]any),
) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	for _, key := range []string{"labels", "annotations"} {
		if values, ok := metadata[key].(map[string]any); ok {
			metadata[key] = maps.Clone(values)
		}
	}
	change(metadata)
	if ok || len(metadata) > 0 {
		out.Object["metadata"] = metadata
	}
	return out
}
