package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestLeftFieldsStayInManifest: fields that are left to controllers are not sent, but an object
// that is created in place of the live one has them, and they are sent once the controller has let
// go.
func TestLeftFieldsStayInManifest(t *testing.T) {
	type fields = map[string]any
	for _, tc := range []struct {
		name               string
		want, theirs, sent fields
		own, controller    string
	}{
		{
			name:   "members and items",
			want:   podSpec(fields{"configMap": fields{"name": "c"}}, 80),
			theirs: podSpec(fields{"emptyDir": fields{"medium": "Memory"}}, 8080),
			sent:   podSpec(nil, 0),
			own: `{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:name":{}}},` +
				`"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:name":{}}}}}`,
			controller: `{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{"f:emptyDir":` +
				`{"f:medium":{}}}},"f:containers":{"k:{\"name\":\"main\"}":{"f:ports":{` +
				`"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:name":{},` +
				`"f:containerPort":{},"f:protocol":{}}}}}}}`,
		},
		{
			name:       "values",
			want:       fields{"priorityClassName": "ours", "nodeName": "n"},
			theirs:     fields{"priorityClassName": "theirs"},
			sent:       fields{"nodeName": "n"},
			own:        `{"f:metadata":{"f:annotations":{"f:owner":{}}}}`,
			controller: `{"f:spec":{"f:priorityClassName":{}}}`,
		},
	} {
		for _, replacement := range []plan.Replacement{"", plan.ReplaceAlways} {
			policy := largePolicy()
			policy.ServerSide, policy.Conflicts = true, plan.YieldToControllers
			policy.Replacement = func(*unstructured.Unstructured) (plan.Replacement, error) {
				return replacement, nil
			}
			want := podWith(tc.want)
			_, created := buildOne(t, policy, want, nil)
			live := created.Want.DeepCopy()
			live.SetUID("1")
			live.SetResourceVersion("7")
			live.Object["spec"] = tc.theirs
			own := managedBy("me", metav1.ManagedFieldsOperationApply, tc.own)
			live.SetManagedFields([]metav1.ManagedFieldsEntry{own,
				managedBy("sidecar-controller", metav1.ManagedFieldsOperationUpdate, tc.controller)})
			p, step := buildOne(t, policy, want, live)
			if diff := cmp.Diff(tc.sent, step.Want.Object["spec"]); diff != "" {
				t.Errorf("%s %s: sent (-want +got):\n%s", tc.name, replacement, diff)
			}
			manifest, err := p.Manifest(&step)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, manifest.Object["spec"]); diff != "" {
				t.Errorf("%s %s: created instead (-want +got):\n%s", tc.name, replacement, diff)
			}
			released := live.DeepCopy()
			released.Object["spec"] = tc.sent
			released.SetManagedFields([]metav1.ManagedFieldsEntry{own})
			next, err := p.Replan(&step, released)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, next.Want.Object["spec"]); diff != "" {
				t.Errorf("%s %s: sent later (-want +got):\n%s", tc.name, replacement, diff)
			}
		}
	}
}

// podWith returns a pod with a spec.
func podWith(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "a", "namespace": "demo"}, "spec": spec,
	}}
}

// podSpec returns the spec of a pod with a volume, from a source, and a port unless that is 0.
func podSpec(source map[string]any, port int64) map[string]any {
	volume, container := map[string]any{"name": "v"}, map[string]any{"name": "main"}
	for key, value := range source {
		volume[key] = value
	}
	if port != 0 {
		container["ports"] = []any{map[string]any{
			"name": "http", "containerPort": port, "protocol": "TCP",
		}}
	}
	return map[string]any{"volumes": []any{volume}, "containers": []any{container}}
}

// managedBy returns an entry of the managed fields.
func managedBy(
	manager string, operation metav1.ManagedFieldsOperationType, fields string,
) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}
