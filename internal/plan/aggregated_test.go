package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// A ClusterRole that aggregates others has no rules of its own, whatever way it is written: its
// controller owns them, so that a second apply has nothing to do.
func TestAggregatedRules(t *testing.T) {
	const head = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a`
	const rule = `, aggregationRule: {clusterRoleSelectors: [{matchLabels: {part: a}}]}, `
	const fields = `{"f:aggregationRule": {".": {}, "f:clusterRoleSelectors": {}}}`
	for _, rules := range []string{"rules: []", "rules: null"} {
		live := documents(t, head+`, managedFields: [{manager: me, operation: Apply, `+
			`apiVersion: rbac.authorization.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: `+fields+`}, `+
			`{manager: clusterrole-aggregation-controller, operation: Apply, `+
			`apiVersion: rbac.authorization.k8s.io/v1, fieldsType: FieldsV1, `+
			`fieldsV1: {"f:rules": {}}}]}`+rule+`rules: [{apiGroups: [""], resources: [pods], `+
			`verbs: [get]}]}`)[0]
		want := documents(t, head+"}"+rule+rules+"}")[0]
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: want}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy:  plan.Policy{ServerSide: true, Manager: "me", Conflicts: plan.FailOnConflicts},
		})
		if err != nil {
			t.Fatal(err)
		}
		step := p.Steps[0]
		if _, sent := step.Want.Object["rules"]; step.Op != plan.Unchanged || sent ||
			len(step.Contested) > 0 {
			t.Errorf("%s: %s, sends the rules: %t, %v", rules, step.Op, sent, step.Contested)
		}
	}
	if class := plan.ClassOf("clusterrole-aggregation-controller"); class != "controller" {
		t.Errorf("the controller of aggregated roles is %s", class)
	}
}
