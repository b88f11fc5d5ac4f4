package packages

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A definition serves if it can hold what ours can, whatever else it holds and however it is
// described.
func TestDefinitionServes(t *testing.T) {
	ours, err := ourDefinition()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"the same": {func(*unstructured.Unstructured) {}, true},
		"other words": {func(o *unstructured.Unstructured) {
			at(versionOf(o), "schema", "openAPIV3Schema")["description"] = "another"
		}, true},
		"more fields": {
			func(o *unstructured.Unstructured) {
				at(versionOf(o), "schema", "openAPIV3Schema")["x-more"] = true
			}, true,
		},
		"no status": {
			func(o *unstructured.Unstructured) { delete(versionOf(o), "subresources") }, false,
		},
		"no longer served": {
			func(o *unstructured.Unstructured) { versionOf(o)["served"] = false }, false,
		},
		"another version": {
			func(o *unstructured.Unstructured) { versionOf(o)["name"] = "v1" }, false,
		},
		"another scope": {
			func(o *unstructured.Unstructured) { at(o.Object, "spec")["scope"] = "Cluster" }, false,
		},
		"fewer status fields": {
			func(o *unstructured.Unstructured) { delete(entryProperties(o), "actuation") }, false,
		},
		"fields of another type": {func(o *unstructured.Unstructured) {
			entryProperties(o)["actuation"] = map[string]any{"type": "integer"}
		}, false},
	} {
		live := ours.DeepCopy()
		test.change(live)
		if got := supports(live, ours); got != test.want {
			t.Errorf("%s: serves = %v, want %v", name, got, test.want)
		}
	}
}

// at descends into maps.
func at(fields map[string]any, path ...string) map[string]any {
	for _, key := range path {
		fields = fields[key].(map[string]any)
	}
	return fields
}

func entryProperties(o *unstructured.Unstructured) map[string]any {
	return at(
		versionOf(o), "schema", "openAPIV3Schema", "properties", "status", "properties",
		"resourceStatuses", "items", "properties",
	)
}

// The manifest of the definition, for those who install it themselves, is the one that the program
// installs.
func TestDefinitionManifest(t *testing.T) {
	manifest, err := os.ReadFile("../../deploy/crds/resourcegroups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(manifest, definitionFile) {
		t.Error("deploy/crds/resourcegroups.yaml differs from internal/packages/crd.yaml: copy that")
	}
}
