package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestOthers: an object with the mark of another owner is left alone, even if the set adopts what
// has no owner. An adoption of all objects removes the mark, on either side.
func TestOthers(t *testing.T) {
	const kind = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"`
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	desired, live := parse(kind+`}}`), parse(kind+`,"uid":"u","labels":{"mark":"x","own":"y"}}}`)
	for _, test := range []struct {
		adoption   plan.Adoption
		serverSide bool
		op         plan.Op
		reason     string
	}{
		{plan.AdoptNone, false, plan.Skip, "it belongs to release x; take it"},
		{plan.AdoptUnowned, false, plan.Skip, "it belongs to release x; take it"},
		{plan.AdoptAll, false, plan.Update, "it belonged to release x"},
		{plan.AdoptAll, true, plan.Update, "it belonged to release x"},
	} {
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: desired}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy: plan.Policy{LastApplied: "applied", ServerSide: test.serverSide, Manager: "m",
				Owner: plan.Owner{Annotation: "owner", ID: "me", Adoption: test.adoption,
					ForeignHint: "take it",
					Others: func(live, _ *unstructured.Unstructured) plan.Others {
						return plan.Others{Text: "release " + live.GetLabels()["mark"],
							Labels: []string{"mark"}}
					}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		step := p.Steps[0]
		if step.Op != test.op || step.Reason != test.reason {
			t.Errorf("%q: %s: %s", test.adoption, step.Op, step.Reason)
		}
		patch := string(step.Patch.Data) + string(step.Disown.Data)
		if removed := strings.Contains(patch, `"labels":{"mark":null}`); removed !=
			(test.op == plan.Update) {
			t.Errorf("%q: patch %s", test.adoption, patch)
		}
	}
}
