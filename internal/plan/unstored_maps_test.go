package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// A map without content of an immutable object is not sent, since a server stores none, and would
// refuse it as a change. One whose fields are removed stays, with the fields of others.
func TestUnstoredMaps(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const (
		config  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: "
		secret  = "{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: "
		storage = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, labels: {app: "
	)
	for _, tc := range []struct{ live, want, patch, field string }{
		{config + "b}}, immutable: true, data: {a: b}}",
			config + "c}}, immutable: true, data: {a: b}, binaryData: {}}",
			`{"metadata":{"labels":{"app":"c"}}}`, "binaryData"},
		{secret + "b}}, immutable: true, type: Opaque}",
			secret + "c}}, immutable: true, type: Opaque, data: {}}",
			`{"metadata":{"labels":{"app":"c"}}}`, "data"},
		{storage + "b}}, provisioner: x}", storage + "c}}, provisioner: x, parameters: {}}",
			`{"metadata":{"labels":{"app":"c"}}}`, "parameters"},
	} {
		live := read(tc.live)
		for _, serverSide := range []bool{false, true} {
			p, err := plan.Build(plan.Input{
				Desired: []plan.Desired{{Object: read(tc.want)}},
				Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
				Policy:  plan.Policy{Manager: "muster", ServerSide: serverSide},
			})
			if err != nil {
				t.Fatal(err)
			}
			step := p.Steps[0]
			if _, sent := step.Want.Object[tc.field]; sent {
				t.Errorf("%s, server-side %t: %s is sent", tc.want, serverSide, tc.field)
			}
			if got := string(step.Patch.Data); !serverSide && got != tc.patch {
				t.Errorf("%s: patch %s, want %s", tc.want, got, tc.patch)
			}
		}
	}
	live := read(config + "b}}, data: {a: b, c: d}}")
	live.SetAnnotations(map[string]string{"last": `{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"a","labels":{"app":"b"}},"data":{"a":"b"}}`})
	p, err := plan.Build(plan.Input{
		Desired: []plan.Desired{{Object: read(config + "b}}, data: {}}")}},
		Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		Policy:  plan.Policy{LastApplied: "last"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(p.Steps[0].Want.Object, "data")
	if len(data) != 1 || data["c"] != "d" {
		t.Errorf("the data is %v", data)
	}
}
