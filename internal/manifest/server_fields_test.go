package manifest_test

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/manifest"
)

// What the server alone writes is left out of what is deployed, with a warning that names the file,
// the line and the field. kpt deploys it, and null is nothing.
func TestServerFields(t *testing.T) {
	const text = `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  creationTimestamp: null
  generation: 3
  uid: 1-2-3
  resourceVersion: "12"
  managedFields: [{manager: me}]
`
	for _, keep := range []bool{false, true} {
		var warnings []string
		objects, err := manifest.Parse(t.Context(), []byte(text), "web.yaml", manifest.Options{
			KeepServerMetadata: keep, Foreign: manifest.WarnForeign,
			Warn: func(text string) { warnings = append(warnings, text) },
		})
		if err != nil || len(objects) != 1 {
			t.Fatal(objects, err)
		}
		obj, warned := objects[0].Unstructured, strings.Join(warnings, "\n")
		if keep {
			if obj.GetUID() == "" || obj.GetResourceVersion() == "" || warned != "" {
				t.Errorf("kpt keeps all: %v\n%s", obj.Object, warned)
			}
			continue
		}
		if obj.GetUID() != "" || obj.GetResourceVersion() != "" || obj.GetGeneration() != 0 ||
			obj.GetManagedFields() != nil {
			t.Errorf("kept: %v", obj.Object)
		}
		for _, want := range []string{"web.yaml: line 6: ", "metadata.generation", "web.yaml: line 7: ",
			"metadata.uid", "metadata.resourceVersion", "metadata.managedFields"} {
			if !strings.Contains(warned, want) {
				t.Errorf("no warning of %s:\n%s", want, warned)
			}
		}
		if strings.Contains(warned, "creationTimestamp") {
			t.Errorf("a warning of null:\n%s", warned)
		}
	}
}
