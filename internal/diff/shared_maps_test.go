package diff_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestSharedMaps checks that an apply which lacks a map leaves what others have in it, at the top
// of an object and in the items of its lists.
func TestSharedMaps(t *testing.T) {
	live := parsed(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  labels: {mine: "1", theirs: "2"}
  managedFields:
  - manager: me
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {.: {}, f:mine: {}}}
      f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {}, f:image: {},
        f:resources: {f:requests: {f:ephemeral-storage: {}}}}}}}}
  - manager: them
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {f:theirs: {}}}
      f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {},
        f:resources: {f:requests: {f:cpu: {}}}}}}}}
spec:
  template:
    spec:
      containers:
      - {name: main, image: "a:1", resources: {requests: {cpu: 250m, ephemeral-storage: 1Gi}}}
`)
	want := parsed(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {template: {spec: {containers: [{name: main, image: "a:1"}]}}}
`)
	result, err := diff.AfterApply(want, live, diff.Applier{Manager: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if labels := result.GetLabels(); !reflect.DeepEqual(labels, map[string]string{"theirs": "2"}) {
		t.Errorf("the labels are %v", labels)
	}
	containers, _, err := unstructured.NestedSlice(result.Object, "spec", "template", "spec",
		"containers")
	if err != nil {
		t.Fatal(err)
	}
	main := map[string]any{"name": "main", "image": "a:1",
		"resources": map[string]any{"requests": map[string]any{"cpu": "250m"}}}
	if !reflect.DeepEqual(containers, []any{main}) {
		t.Errorf("the containers are %v, want %v", containers, main)
	}
	if _, has := want.Object["metadata"].(map[string]any)["labels"]; has {
		t.Error("the desired object was changed")
	}
}
