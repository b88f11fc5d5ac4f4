package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHideValues(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": "db"},
		"data":       map[string]any{"password": "aHVudGVyMg==", "short": "YQ==", "none": nil},
		"stringData": map[string]any{"pin": int64(12345), "longer": "hunter2hunter2"},
		"dat":        []any{"misplaced", true},
	}}
	for text, want := range map[string]string{
		"":                                   "",
		"Opaque db is hunter2, aHVudGVyMg==": "Opaque db is ***, ***",
		"hunter2hunter2 12345 misplaced":     "*** *** ***",
		"a true story":                       "a true story",
	} {
		if got := HideValues(secret, text); got != want {
			t.Errorf("HideValues(%q) = %q, want %q", text, got, want)
		}
	}
	secret.SetKind("ConfigMap")
	if got := HideValues(secret, "hunter2"); got != "hunter2" {
		t.Errorf("of a ConfigMap: %q", got)
	}
	if got := HideValues(nil, "hunter2"); got != "hunter2" {
		t.Errorf("of no object: %q", got)
	}
}
