package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWithMetadataLeavesTheObjectUnchanged(t *testing.T) {
	relabel := func(metadata map[string]any) {
		metadata["uid"] = "1"
		if labels, ok := metadata["labels"].(map[string]any); ok {
			labels["a"] = "changed"
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "b")
		}
	}
	fields := func(labels, annotations map[string]any) map[string]any {
		return map[string]any{
			"kind":     "A",
			"metadata": map[string]any{"labels": labels, "annotations": annotations},
		}
	}
	obj := &unstructured.Unstructured{
		Object: fields(map[string]any{"a": "x"}, map[string]any{"b": "y"}),
	}
	got := WithMetadata(obj, relabel)
	want := fields(map[string]any{"a": "changed"}, map[string]any{})
	want["metadata"].(map[string]any)["uid"] = "1"
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	before := fields(map[string]any{"a": "x"}, map[string]any{"b": "y"})
	if diff := cmp.Diff(before, obj.Object); diff != "" {
		t.Errorf("the object was modified (-before +after):\n%s", diff)
	}
}

func TestWithMetadataOfAnObjectWithoutAny(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"kind": "A"}}
	got := WithMetadata(obj, func(metadata map[string]any) {})
	if diff := cmp.Diff(obj.Object, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = WithMetadata(obj, func(metadata map[string]any) { metadata["uid"] = "1" })
	want := map[string]any{"kind": "A", "metadata": map[string]any{"uid": "1"}}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTexts reads labels and annotations as the getters of package unstructured do.
func TestTexts(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{"app": "web", "none": nil},
		"annotations": map[string]any{"number": int64(1), "empty": ""},
	}}}
	for _, c := range []struct {
		texts Texts
		key   string
		text  string
		found bool
	}{
		{LabelsOf(obj), "app", "web", true},
		{LabelsOf(obj), "none", "", true},
		{LabelsOf(obj), "tier", "", false},
		{AnnotationsOf(obj), "empty", "", true},
		{AnnotationsOf(obj), "number", "", false},
		{AnnotationsOf(&unstructured.Unstructured{}), "empty", "", false},
	} {
		if text, found := c.texts.Lookup(c.key); text != c.text || found != c.found {
			t.Errorf("%s: got %q, %t, want %q, %t", c.key, text, found, c.text, c.found)
		}
		if text := c.texts.Get(c.key); text != c.text {
			t.Errorf("%s: got %q, want %q", c.key, text, c.text)
		}
	}
}
