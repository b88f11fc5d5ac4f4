package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestYieldObstacles: a member of a union, and an item of a list, that a controller has set in
// place of the manifest's stay if fields are left to controllers, in both write modes. Those of a
// human are refused.
func TestYieldObstacles(t *testing.T) {
	type fields = map[string]any
	pod := func(volume, port fields) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": fields{"name": "a", "namespace": "demo"},
			"spec": fields{
				"volumes":    []any{volume},
				"containers": []any{fields{"name": "main", "ports": []any{port}}},
			},
		}}
	}
	want := pod(fields{"name": "v", "configMap": fields{"name": "c"}},
		fields{"name": "http", "containerPort": int64(80), "protocol": "TCP"})
	theirs := pod(fields{"name": "v", "emptyDir": fields{"medium": "Memory"}},
		fields{"name": "http", "containerPort": int64(8080), "protocol": "TCP"})
	const set = `{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{"f:emptyDir":{"f:medium":{}}}},` +
		`"f:containers":{"k:{\"name\":\"main\"}":{"f:ports":{` +
		`"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:containerPort":{},` +
		`"f:protocol":{}}}}}}}`
	for _, serverSide := range []bool{false, true} {
		for manager, left := range map[string]bool{"sidecar-controller": true, "kubectl-edit": false} {
			policy := largePolicy()
			policy.ServerSide, policy.Conflicts = serverSide, plan.YieldToControllers
			_, created := buildOne(t, policy, want, nil)
			live := theirs.DeepCopy()
			live.SetUID("1")
			live.SetResourceVersion("7")
			live.SetAnnotations(created.Want.GetAnnotations())
			entry := func(manager, operation, fields string) metav1.ManagedFieldsEntry {
				return metav1.ManagedFieldsEntry{
					Manager: manager, APIVersion: "v1", FieldsType: "FieldsV1",
					Operation: metav1.ManagedFieldsOperationType(operation),
					FieldsV1:  metav1.NewFieldsV1(fields),
				}
			}
			own := "Update"
			if serverSide {
				own = "Apply"
			}
			live.SetManagedFields([]metav1.ManagedFieldsEntry{
				entry("me", own, `{"f:metadata":{"f:annotations":{"f:owner":{}}},"f:spec":{"f:volumes":`+
					`{"k:{\"name\":\"v\"}":{".":{},"f:name":{}}},"f:containers":{"k:{\"name\":\"main\"}":`+
					`{".":{},"f:name":{}}}}}`),
				entry(manager, "Update", set),
			})
			p, step := buildOne(t, policy, want, live)
			err := p.Conflict(&step)
			if (err == nil) != left {
				t.Errorf("server-side %t, %s: the conflict is %v", serverSide, manager, err)
			}
			if !left || err != nil {
				continue
			}
			if step.Op == plan.Update && serverSide {
				expected := fields{"volumes": []any{fields{"name": "v"}},
					"containers": []any{fields{"name": "main"}}}
				if diff := cmp.Diff(expected, step.Want.Object["spec"]); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
			}
			if step.Op == plan.Update && !serverSide {
				if diff := cmp.Diff(theirs.Object["spec"], step.Want.Object["spec"]); diff != "" {
					t.Errorf("merged (-want +got):\n%s", diff)
				}
			}
			var noted []string
			for _, c := range step.Contested {
				if c.Left {
					noted = append(noted, c.Field)
				}
			}
			expected := []string{
				`.spec.containers[name="main"].ports[containerPort=8080,protocol="TCP"]`,
				`.spec.volumes[name="v"].emptyDir`,
			}
			if diff := cmp.Diff(expected, noted); diff != "" {
				t.Errorf("server-side %t: noted (-want +got):\n%s", serverSide, diff)
			}
			if next, err := p.Replan(&step, live); err != nil || p.Conflict(next) != nil {
				t.Errorf("server-side %t: decided again: %v", serverSide, err)
			}
		}
	}
	if object.RefOf(want).Name != "a" || want.Object["spec"].(fields)["volumes"] == nil {
		t.Error("the desired object was changed")
	}
}
