package apps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestYieldObstacles: a member of a union that a controller has set in place of the manifest's
// stays if fields are left to controllers, in both write modes. That of a human is refused.
func TestYieldObstacles(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: demo}, spec: {volumes: " +
		"[{name: v, configMap: {name: c}}], containers: [{name: main, image: x}]}}"
	const fields = `{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{"f:emptyDir":{"f:medium":{}}}}}}`
	for _, serverSide := range []bool{false, true} {
		for manager, left := range map[string]bool{"sidecar-controller": true, "kubectl-edit": false} {
			w := newWorld(t)
			request := func() DeployRequest {
				r := w.nativeRequest(pod)
				r.Run.Wait = false
				r.Run.ServerSide, r.Run.Conflicts = serverSide, plan.YieldToControllers
				return r
			}
			if _, err := w.run(t.Context(), w.prepare(request()), realRun); err != nil {
				t.Fatal(err)
			}
			live := w.cluster.Object(object.Ref{Kind: "Pod", Namespace: "demo", Name: "a"})
			theirs := []any{map[string]any{"name": "v", "emptyDir": map[string]any{"medium": "Memory"}}}
			if err := unstructured.SetNestedSlice(live.Object, theirs, "spec", "volumes"); err != nil {
				t.Fatal(err)
			}
			live.SetManagedFields(append(live.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
			}))
			w.cluster.Put(live)
			p := w.prepare(request()).Plan()
			step := &p.Steps[0]
			if err := p.Conflict(step); (err == nil) != left {
				t.Errorf("server-side %t, %s: the conflict is %v", serverSide, manager, err)
			}
			if !left {
				continue
			}
			var noted []string
			for _, c := range step.Contested {
				if c.Left {
					noted = append(noted, c.Field)
				}
			}
			want := []string{`.spec.volumes[name="v"].emptyDir`}
			if diff := cmp.Diff(want, noted); diff != "" {
				t.Errorf("server-side %t: noted (-want +got):\n%s", serverSide, diff)
			}
			if step.Op != plan.Update {
				continue
			}
			volumes, _, _ := unstructured.NestedSlice(step.Want.Object, "spec", "volumes")
			if serverSide {
				theirs = []any{map[string]any{"name": "v"}}
			}
			if diff := cmp.Diff(theirs, volumes); diff != "" {
				t.Errorf("server-side %t: sent (-want +got):\n%s", serverSide, diff)
			}
		}
	}
}
