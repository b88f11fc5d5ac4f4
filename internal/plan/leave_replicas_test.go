package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestReplicasLeftToScaledObject checks that a desired ScaledObject of KEDA counts as the
// autoscaler of a workload, with the kind that it scales by default.
func TestReplicasLeftToScaledObject(t *testing.T) {
	const web = `apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: demo}`
	live := documents(t, `{`+web+`, spec: {replicas: 7}}`)[0]
	want := documents(t, `{`+web+`, spec: {replicas: 3}}`)[0]
	scaled := documents(t, `{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, `+
		`metadata: {name: web, namespace: demo}, spec: {scaleTargetRef: {name: web}}}`)[0]
	p, err := plan.Build(plan.Input{
		Desired: []plan.Desired{{Object: want}, {Object: scaled}},
		Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		Policy:  plan.Policy{LeaveReplicas: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	const reason = "spec.replicas is left to scaledobject.keda.sh/web"
	for _, step := range p.Steps {
		if step.Ref.Kind == "Deployment" && (step.Op != plan.Unchanged || step.Reason != reason) {
			t.Errorf("%s: %s; want it unchanged: %s", step.Op, step.Reason, reason)
		}
	}
}
