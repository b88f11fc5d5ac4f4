package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestLastAppliedKeepsLargeNumbers writes an annotation and reads it again.
func TestLastAppliedKeepsLargeNumbers(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"},
		"spec": map[string]any{
			"serial": int64(1<<53 + 1), "list": []any{int64(1234567890123456789)},
		},
	}}
	want := obj.DeepCopy()
	if err := setLastApplied(obj, "last"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Object["spec"], readLastApplied(obj, "last").Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
