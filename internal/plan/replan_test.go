package plan_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// With server-side apply an unchanged object stays unchanged when only others change it, and an
// update of it sends what is desired and not what is live.
func TestReplanUnchangedServerSide(t *testing.T) {
	desired := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a", "namespace": "demo"},
		"data":     map[string]any{"key": "ours"},
	}}
	live := desired.DeepCopy()
	live.SetUID("1")
	live.SetResourceVersion("7")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "us", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:data":{"f:key":{}}}`),
	}})
	made, err := plan.Build(plan.Input{
		Desired: []plan.Desired{{Object: desired}},
		Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		Policy:  plan.Policy{ServerSide: true, Manager: "us"},
	})
	if err != nil || made.Steps[0].Op != plan.Unchanged {
		t.Fatalf("%v, %v", made, err)
	}
	others := live.DeepCopy()
	others.SetResourceVersion("8")
	others.Object["status"] = map[string]any{"theirs": "new"}
	next, err := made.Replan(&made.Steps[0], others)
	if err != nil || next.Op != plan.Unchanged {
		t.Errorf("a new status: %s, %v", next.Op, err)
	}
	others.Object["data"] = map[string]any{"key": "theirs"}
	others.SetManagedFields(nil)
	next, err = made.Replan(&made.Steps[0], others)
	if err != nil || next.Op != plan.Update || next.Want.Object["status"] != nil {
		t.Errorf("a drifted field: %s with %v, %v", next.Op, next.Want, err)
	}
}
