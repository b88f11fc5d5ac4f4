package mutation

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// TestLargeNumbers takes a number over as a value and into a text.
func TestLargeNumbers(t *testing.T) {
	widget := func(name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name}, "spec": spec,
		}}
	}
	source := widget("a", map[string]any{"serial": int64(1<<53 + 1)})
	target := widget("b", map[string]any{"serial": int64(0), "text": "id-$id"})
	ref := object.RefOf(source)
	got, err := Apply(target, []Substitution{
		{Source: ref, From: "$.spec.serial", To: "$.spec.serial"},
		{Source: ref, From: "$.spec.serial", To: "$.spec.text", Token: "$id"},
	}, map[object.Ref]*unstructured.Unstructured{ref: source})
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Object["spec"].(map[string]any)
	if spec["serial"] != int64(1<<53+1) || spec["text"] != "id-9007199254740993" {
		t.Errorf("spec = %v", spec)
	}
}
