package diff_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff"
)

// contestedLive has an edited port, a controller's replicas, an own field and a map of its own.
const contestedLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {revision: "7"}
  managedFields:
  - {manager: me, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:paused": {}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1,
     time: "2026-01-02T03:04:05Z", fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:containers": {
       'k:{"name":"web"}': {".": {}, "f:image": {}, "f:resources": {}}}}}}}}
  - {manager: controller, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:metadata": {"f:annotations": {"f:revision": {}}}}}
  - {manager: hpa, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  paused: true
  replicas: 7
  template: {spec: {containers: [{name: web, image: edited, resources: {}}]}}
`

const contestedWant = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {revision: "1"}}
spec:
  paused: false
  replicas: 3
  template: {spec: {containers: [{name: web, image: wanted, resources: {limits: {cpu: 1}}}]}}
`

func TestContested(t *testing.T) {
	const image = `.spec.template.spec.containers[name="web"].image`
	want, live := parsed(t, contestedWant), parsed(t, contestedLive)
	base := live.DeepCopy() // nobody has changed the replicas since
	containers := []any{map[string]any{"name": "web", "image": "applied"}}
	_ = unstructured.SetNestedSlice(base.Object, containers, "spec", "template", "spec", "containers")
	const revision = `.metadata.annotations.revision`
	for name, test := range map[string]struct {
		base   *unstructured.Unstructured
		ignore []string
		fields []string
	}{
		"all":                   {nil, nil, []string{revision, ".spec.replicas", image}},
		"without an annotation": {nil, []string{"revision"}, []string{".spec.replicas", image}},
		"changed since applied": {base, nil, []string{image}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := diff.Contested(diff.Comparison{
				Want: want, Live: live, Base: test.base, Manager: "me", Operation: "Update",
				IgnoreAnnotations: test.ignore,
			})
			if err != nil || len(found) != len(test.fields) {
				t.Fatalf("%v, %v; want %v", found, err, test.fields)
			}
			for i, field := range test.fields {
				if found[i].Field != field {
					t.Errorf("%s; want %s", found[i].Field, field)
				}
			}
		})
	}
}

// TestContestedFieldLeft checks what is sent without a contested field, or with its live value.
func TestContestedFieldLeft(t *testing.T) {
	want, live := parsed(t, contestedWant), parsed(t, contestedLive)
	fields, err := diff.Contested(diff.Comparison{Want: want, Live: live, Manager: "me",
		Operation: "Update"})
	if err != nil {
		t.Fatal(err)
	}
	without, kept := want.DeepCopy(), want.DeepCopy()
	for _, field := range fields {
		field.LeaveOut(without)
		field.Keep(kept, live)
	}
	again, err := diff.Contested(diff.Comparison{Want: kept, Live: live, Manager: "me",
		Operation: "Update", Merged: true})
	if err != nil || len(again) != 0 {
		t.Errorf("contested with the live values: %v, %v", again, err)
	}
	for fields, got := range map[string]*unstructured.Unstructured{
		`metadata: {name: web}
spec: {paused: false,
  template: {spec: {containers: [{name: web, resources: {limits: {cpu: 1}}}]}}}`: without,
		`metadata: {name: web, annotations: {revision: "7"}}
spec: {paused: false, replicas: 7,
  template: {spec: {containers: [{name: web, image: edited, resources: {limits: {cpu: 1}}}]}}}`: kept,
	} {
		expected := parsed(t, "apiVersion: apps/v1\nkind: Deployment\n"+fields)
		if d := cmp.Diff(expected.Object, got.Object); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestObstaclesOfLongLists finds what is in the way in lists of which no two items are the same: it
// takes no longer for each item.
func TestObstaclesOfLongLists(t *testing.T) {
	const n = 60_000
	pod := func(name string) *unstructured.Unstructured {
		env := make([]any, n)
		for i := range env {
			env[i] = map[string]any{"name": fmt.Sprint(name, i), "value": "x"}
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "env": env}}},
		}}
	}
	found, err := diff.Obstacles(diff.Comparison{
		Base: pod("base-"), Want: pod("want-"), Live: pod("live-"), Manager: "me",
	})
	if err != nil || len(found) > 0 {
		t.Errorf("%d in the way, %v", len(found), err)
	}
}
