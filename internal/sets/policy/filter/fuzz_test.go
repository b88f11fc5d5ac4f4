package filter

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzFilters looks for filters and patterns that panic when they are read or used.
func FuzzFilters(f *testing.F) {
	for _, text := range []string{"", "{}", "null",
		`{"and": [{"resource": {"kinds": ["ConfigMap"]}}]}`,
		`{"not": {"or": [{"resource": {"kindNames": ["ConfigMap/a"], "labels": ["a=b"]}}]}}`,
		`{"ops": ["add"], "newResource": {"names": ["a*"]}}`, `{"and": [null]}`, `a*b?[`, `**`} {
		f.Add(text)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a", "namespace": "n"}}}
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, err := ParseResourceFilter(text); err == nil {
			parsed.Matches(obj)
		}
		if parsed, err := ParseChangeFilter(text); err == nil && parsed != nil {
			parsed.Matches("add", obj, nil)
		}
		if !MatchPattern(text, text) {
			t.Errorf("the pattern %q does not match itself", text)
		}
	})
}
