package plan_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestConflicts checks client-side updates of a field that a human or a controller has changed.
func TestConflicts(t *testing.T) {
	for _, tc := range []struct {
		manager string
		mode    plan.Conflicts
		becomes string
		refused bool
	}{
		{"kubectl-edit", plan.NoteConflicts, "mine", false},
		{"kubectl-edit", plan.FailOnConflicts, "mine", true},
		{"kubectl-edit", plan.TakeFromHumans, "mine", false},
		{"kubectl-edit", plan.YieldToControllers, "mine", true},
		{"cert-manager-cainjector", plan.TakeFromHumans, "mine", true},
		{"cert-manager-cainjector", plan.TakeAll, "mine", false},
		{"cert-manager-cainjector", plan.YieldToControllers, "theirs", false},
		{"some-thing", plan.TakeFromHumans, "mine", true}, // unknown: as a controller
	} {
		t.Run(tc.manager+" "+string(tc.mode), func(t *testing.T) {
			live := documents(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: demo, `+
				`annotations: {last: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",`+
				`"namespace":"demo"},"data":{"k":"mine"}}'}, managedFields: [{manager: `+tc.manager+
				`, operation: Update, apiVersion: v1, fieldsType: FieldsV1, `+
				`fieldsV1: {"f:data": {"f:k": {}}}}]}, data: {k: theirs}}`)[0]
			want := documents(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, `+
				`namespace: demo}, data: {k: mine}}`)[0]
			p, err := plan.Build(plan.Input{
				Desired: []plan.Desired{{Object: want}},
				Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
				Policy:  plan.Policy{Manager: "me", LastApplied: "last", Conflicts: tc.mode},
			})
			if err != nil {
				t.Fatal(err)
			}
			step := &p.Steps[0]
			changed := (*plan.ConflictError)(nil)
			refused := errors.As(p.Conflict(step), &changed)
			becomes, _, _ := unstructured.NestedString(step.Want.Object, "data", "k")
			if becomes != tc.becomes || refused != tc.refused || len(step.Contested) != 1 {
				t.Errorf("%s, refused %t, %v; want %s, %t and the field", becomes, refused,
					step.Contested, tc.becomes, tc.refused)
			}
		})
	}
}
