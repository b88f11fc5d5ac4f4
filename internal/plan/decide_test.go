package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestLastAppliedWithPreconditions checks that an object is unchanged if the server has recorded
// what a server-side apply sent, with its preconditions.
func TestLastAppliedWithPreconditions(t *testing.T) {
	const manifest = `{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap",` +
		`"metadata":{"name":"a","namespace":"demo"}}`
	recorded := strings.Replace(manifest, `"name"`, `"resourceVersion":"7","uid":"u","name"`, 1)
	want, live := documents(t, manifest)[0], documents(t, manifest)[0]
	live.SetUID("u")
	live.SetResourceVersion("8")
	live.SetAnnotations(map[string]string{"last": recorded})
	p, err := plan.Build(plan.Input{
		Desired: []plan.Desired{{Object: want}},
		Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		Policy:  plan.Policy{Manager: "me", LastApplied: "last"},
	})
	if err != nil || p.Steps[0].Op != plan.Unchanged {
		t.Errorf("%v, %v; want it unchanged", p, err)
	}
}
