package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestFailedMerge plans a set with a manifest that cannot be merged into its live object: the
// update of that object fails, and the others are planned.
func TestFailedMerge(t *testing.T) {
	pod := func(name string, key any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"namespace": "n", "name": name},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": key}}},
		}}
	}
	live := pod("bad", "a")
	p, err := plan.Build(plan.Input{
		Desired: []plan.Desired{
			{Object: pod("bad", []any{"a"}), Source: "bad.yaml:1"}, {Object: pod("good", "a")},
		},
		Live:   map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		Policy: plan.Policy{LastApplied: "applied"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(p.Steps); got != 2 {
		t.Fatalf("%d steps", got)
	}
	for _, step := range p.Steps {
		err := p.Conflict(&step)
		switch {
		case step.Ref.Name == "good" && (err != nil || step.Op != plan.Create):
			t.Errorf("%s: %s, error %v", step.Ref, step.Op, err)
		case step.Ref.Name == "bad" && (err == nil || step.Op != plan.Update ||
			!strings.Contains(err.Error(), ".spec.containers: the object is malformed")):
			t.Errorf("%s: %s, error %v", step.Ref, step.Op, err)
		}
	}
}
