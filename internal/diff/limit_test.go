package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of what is too long the short fields are kept, and the others are counted.
func TestLimit(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{
			"a.b": "short", "long": strings.Repeat("x", 500), "z": map[string]any{"k": "v"},
		},
	}}
	removed := Between(obj, nil, Options{})
	if kept, omitted := removed.Limit(1 << 20); kept.String() != removed.String() || omitted != 0 {
		t.Errorf("what fits is not kept: %d omitted, %v", omitted, kept)
	}
	kept, omitted := removed.Limit(400)
	want := `- .data["a.b"]: "short"
- .data.z: {"k":"v"}
- .kind: "ConfigMap"
- .metadata: {"name":"a"}`
	if kept.String() != want || omitted != 1 {
		t.Errorf("%d omitted, kept:\n%v", omitted, kept)
	}
	if text, err := json.Marshal(kept); err != nil || len(text) > 400+len(kept)+1 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	if kept, omitted := Between(nil, obj, Options{}).Limit(0); len(kept) != 0 || omitted != 5 {
		t.Errorf("%d omitted, kept %v", omitted, kept)
	}
}
