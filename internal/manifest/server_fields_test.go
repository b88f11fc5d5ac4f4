package manifest_test

import (
	"slices"
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

// Annotations that a controller writes again are left out as well.
func TestServerAnnotations(t *testing.T) {
	const text = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    example.com/team: a
    deployment.kubernetes.io/revision: "3"
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: web
  annotations: {deprecated.daemonset.template.generation: "3"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  annotations: {deployment.kubernetes.io/revision: "3"}
`
	for _, keep := range []bool{false, true} {
		var warnings []string
		objects, err := manifest.Parse(t.Context(), []byte(text), "web.yaml", manifest.Options{
			KeepServerMetadata: keep, Foreign: manifest.WarnForeign,
			Warn: func(text string) { warnings = append(warnings, text) },
		})
		if err != nil || len(objects) != 3 {
			t.Fatal(objects, err)
		}
		var counts []int
		for _, obj := range objects {
			counts = append(counts, len(obj.GetAnnotations()))
		}
		want, text := []int{2, 1, 1}, strings.Join(warnings, "\n")
		if !keep {
			want = []int{1, 0, 1}
		}
		if !slices.Equal(counts, want) || strings.Count(text, " is left out: ") != 3-want[0]-want[1] {
			t.Errorf("keep %t: %v annotations\n%s", keep, counts, text)
		}
		if !keep && !strings.Contains(text, "line 7: deployment.apps/web: the annotation deployment") {
			t.Errorf("no warning with a line:\n%s", text)
		}
	}
}
