package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestReplicasServerSide checks what a server-side apply sends of replicas that are left to an
// autoscaler: nothing if another manager owns them, else the live value, which the server would
// remove otherwise.
func TestReplicasServerSide(t *testing.T) {
	for _, tc := range []struct {
		name, wanted, owners string
		sent                 any
	}{
		{"the autoscaler owns them", "3", "{manager: hpa, operation: Update, " + fieldsOfReplicas, nil},
		{"the manager owns them", "3", "{manager: me, operation: Apply, " + fieldsOfReplicas, int64(7)},
		{"dropped", "null", "{manager: me, operation: Apply, " + fieldsOfReplicas, int64(7)},
		{"both own them", "3", "{manager: me, operation: Apply, " + fieldsOfReplicas + ", " +
			"{manager: hpa, operation: Update, " + fieldsOfReplicas, nil},
		{"applied on the client before", "3", "{manager: old, operation: Update, apiVersion: apps/v1, " +
			`fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:last": {}}}, ` +
			`"f:spec": {"f:replicas": {}}}}`, int64(7)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			live := documents(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, `+
				`namespace: demo, managedFields: [`+tc.owners+`]}, spec: {replicas: 7}}`)[0]
			want := documents(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, `+
				`namespace: demo}, spec: {paused: true, replicas: `+tc.wanted+`}}`)[0]
			if tc.wanted == "null" {
				unstructured.RemoveNestedField(want.Object, "spec", "replicas")
			}
			scaler := documents(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, `+
				`metadata: {name: web, namespace: demo}, spec: {scaleTargetRef: `+
				`{apiVersion: apps/v1, kind: Deployment, name: web}}}`)
			p, err := plan.Build(plan.Input{
				Desired: []plan.Desired{{Object: want}}, Autoscalers: scaler,
				Live: map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
				Policy: plan.Policy{
					ServerSide: true, Manager: "me", LastApplied: "last", LeaveReplicas: true,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			step := p.Steps[0]
			sent, _, _ := unstructured.NestedFieldNoCopy(step.Want.Object, "spec", "replicas")
			if step.Op != plan.Update || sent != tc.sent {
				t.Errorf("%s with %v replicas; want %v", step.Op, sent, tc.sent)
			}
			again, err := p.Replan(&step, live)
			if err != nil {
				t.Fatal(err)
			}
			sent, _, _ = unstructured.NestedFieldNoCopy(again.Want.Object, "spec", "replicas")
			if sent != tc.sent {
				t.Errorf("%v replicas after a conflict; want %v", sent, tc.sent)
			}
		})
	}
}

const fieldsOfReplicas = `apiVersion: apps/v1, fieldsType: FieldsV1, ` +
	`fieldsV1: {"f:spec": {"f:replicas": {}}}}`
