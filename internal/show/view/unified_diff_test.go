package view_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/show/view"
)

// TestUnifiedDiffOfControls: an object with a value that YAML does not allow can be compared.
func TestUnifiedDiffOfControls(t *testing.T) {
	object := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"a": value, "b": "x"}}
	}
	text, err := view.UnifiedDiff(object("x\u009b2J"), object("x\x7f"))
	want := "@@ -1,2 +1,2 @@\n-a: \"x\\x9B2J\"\n+a: \"x\\x7F\"\n b: x\n"
	if err != nil || text != want {
		t.Errorf("got %q, want %q: %v", text, want, err)
	}
}
