package diff

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRestoredPatch: what an applier has updated becomes applied, as far as the object that it
// describes has it; all of it if nothing is known of that object.
func TestRestoredPatch(t *testing.T) {
	entry := func(manager, operation, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	object := func(data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": "a", "resourceVersion": "7"},
		}}
	}
	applied := entry("us", "Apply", `{"f:data":{"f:a":{}}}`)
	updated := entry("us", "Update", `{"f:data":{"f:b":{},"f:c":{}}}`)
	others := entry("them", "Update", `{"f:data":{"f:d":{}}}`)
	for name, tc := range map[string]struct {
		entries   []metav1.ManagedFieldsEntry
		described *unstructured.Unstructured
		want      string // the applied fields after it; empty for no patch
	}{
		"nothing is known": {[]metav1.ManagedFieldsEntry{applied, updated, others}, nil,
			`{"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`},
		"a part is described": {[]metav1.ManagedFieldsEntry{applied, updated, others},
			object(map[string]any{"a": "1", "b": "2"}), `{"f:data":{"f:a":{},"f:b":{}}}`},
		"nothing is described": {[]metav1.ManagedFieldsEntry{applied, updated}, object(nil),
			`{"f:data":{"f:a":{}}}`},
		"nothing was updated": {[]metav1.ManagedFieldsEntry{applied, others}, nil, ""},
		"nothing was applied": {[]metav1.ManagedFieldsEntry{updated, others}, nil, ""},
	} {
		live := object(map[string]any{"a": "1", "b": "2", "c": "3", "d": "4"})
		live.SetManagedFields(tc.entries)
		patch, err := RestoredPatch(live, tc.described, "us")
		if err != nil {
			t.Fatal(err)
		}
		if tc.want == "" {
			if len(patch.Data) > 0 {
				t.Errorf("%s: the patch is %s", name, patch.Data)
			}
			continue
		}
		var operations []struct {
			Path  string          `json:"path"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(patch.Data, &operations); err != nil || len(operations) != 2 {
			t.Fatalf("%s: the patch is %s (%v)", name, patch.Data, err)
		}
		var entries []metav1.ManagedFieldsEntry
		if err := json.Unmarshal(operations[0].Value, &entries); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			if e.Manager == "us" {
				got = append(got, string(e.Operation)+" "+e.FieldsV1.GetRawString())
			}
		}
		if text := strings.Join(got, "; "); text != "Apply "+tc.want {
			t.Errorf("%s: %s, want Apply %s", name, text, tc.want)
		}
		if version := string(operations[1].Value); version != `"7"` {
			t.Errorf("%s: it is valid for version %s", name, version)
		}
	}
}
