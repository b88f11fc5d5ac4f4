package lastapplied

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// FuzzOriginal looks for annotations of live objects that panic when they are read.
func FuzzOriginal(f *testing.F) {
	for _, text := range []string{"", "{}", "{", `{"kind": "ConfigMap"}`, "kind: ConfigMap\n", "- a",
		"a: *b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		live := &unstructured.Unstructured{Object: map[string]any{}}
		live.SetAnnotations(map[string]string{resource.AnnOriginal: text})
		if original := Original(live); original != nil && len(original.Object) == 0 {
			t.Errorf("%q was read as an empty object", text)
		}
	})
}
