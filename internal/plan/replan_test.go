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

// An object that is always replaced, and was to stay unchanged, is created again from its manifest
// when somebody has changed it meanwhile: without the fields that others set.
func TestReplanOfAlwaysReplaced(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		lastApplied := "applied"
		if serverSide {
			lastApplied = ""
		}
		desired := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "namespace": "demo"},
			"data":     map[string]any{"key": "ours"},
		}}
		input := plan.Input{
			Desired: []plan.Desired{{Object: desired.DeepCopy()}},
			Policy: plan.Policy{ServerSide: serverSide, Manager: "us", LastApplied: lastApplied,
				Replacement: func(*unstructured.Unstructured) (plan.Replacement, error) {
					return plan.ReplaceAlways, nil
				}},
		}
		first, err := plan.Build(input)
		if err != nil {
			t.Fatal(err)
		}
		live := first.Steps[0].Want.DeepCopy()
		live.SetUID("1")
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "us", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsType: "FieldsV1",
			FieldsV1:   metav1.NewFieldsV1(`{"f:data":{"f:key":{}}}`),
		}})
		input.Desired = []plan.Desired{{Object: desired.DeepCopy()}}
		input.Live = map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live}
		made, err := plan.Build(input)
		if err != nil || made.Steps[0].Op != plan.Unchanged {
			t.Fatalf("server-side %t: %v, %v", serverSide, made, err)
		}
		others := live.DeepCopy()
		others.Object["data"] = map[string]any{"key": "theirs", "more": "theirs"}
		others.SetManagedFields(nil)
		next, err := made.Replan(&made.Steps[0], others)
		if err != nil || next.Op != plan.Update || next.Recreate == nil {
			t.Fatalf("server-side %t: %v, %v", serverSide, next, err)
		}
		data := next.Recreate.Object["data"].(map[string]any)
		if len(data) != 1 || data["key"] != "ours" {
			t.Errorf("server-side %t: recreated with %v", serverSide, data)
		}
	}
}
