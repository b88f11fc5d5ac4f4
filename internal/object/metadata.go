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

// Texts are labels or annotations as they were decoded, without a copy. As in the API, null is an
// empty text.
type Texts map[string]any

// LabelsOf returns the labels of an object.
func LabelsOf(obj *unstructured.Unstructured) Texts { return textsOf(obj, "labels") }

// AnnotationsOf returns the annotations of an object.
func AnnotationsOf(obj *unstructured.Unstructured) Texts { return textsOf(obj, "annotations") }

func textsOf(obj *unstructured.Unstructured, field string) Texts {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	texts, _ := metadata[field].(map[string]any)
	return texts
}

// Get returns the text of a key, or "".
func (t Texts) Get(key string) string {
	text, _ := t[key].(string)
	return text
}

// Lookup returns the text of a key, and whether there is one.
func (t Texts) Lookup(key string) (text string, found bool) {
	value, found := t[key]
	text, isText := value.(string)
	return text, found && (isText || value == nil)
}
