package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestDeployersAreNotHuman checks that fields of other tools that deploy are not taken as those of
// humans are.
func TestDeployersAreNotHuman(t *testing.T) {
	for name, want := range map[string]string{
		"helm": "deployer", "terraform": "deployer", "argocd-controller": "deployer",
		"argocd-application-controller": "controller", "acme-operator": "controller",
		"kubectl-edit": "human", "before-first-apply": "human",
		"go-http-client": "unknown",
	} {
		if got := plan.ClassOf(name); string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestOwnFieldsAreTakenOver checks that a server-side apply takes over the fields that the set has
// applied on the client's side, and no others.
func TestOwnFieldsAreTakenOver(t *testing.T) {
	const rules = `.webhooks[name="a"].rules`
	for owner, want := range map[string]bool{
		"kubectl": true, "kubectl-client-side-apply": true, "kubectl-edit": false, "helm": false,
	} {
		live := documents(t, `{apiVersion: v1, kind: Thing, metadata: {name: a, namespace: demo, `+
			`managedFields: [{manager: kubectl, operation: Update, apiVersion: v1, `+
			`fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:last": {}}}}}, `+
			`{manager: kubectl-client-side-apply, operation: Update, apiVersion: v1, `+
			`fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:last": {}}}}}, `+
			`{manager: `+owner+`, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: `+
			`{"f:webhooks": {"k:{\"name\":\"a\"}": {"f:rules": {}}}}}]}}`)[0]
		desired := documents(t, `{apiVersion: v1, kind: Thing, metadata: {name: a, namespace: demo}}`)[0]
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: desired}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy: plan.Policy{ServerSide: true, Manager: "kubectl", LastApplied: "last",
				Conflicts: plan.FailOnConflicts},
		})
		if err != nil {
			t.Fatal(err)
		}
		next, ok := p.TakeOver(&p.Steps[0], []string{rules})
		if ok != want || ok && !next.Force {
			t.Errorf("fields of %s: taken over: %t", owner, ok)
		}
	}
}
