package sets

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// configMap returns a live ConfigMap whose fields a person owns.
func configMap(name string, data map[string]any) *unstructured.Unstructured {
	owned := map[string]any{}
	for key := range data {
		owned["f:"+key] = map[string]any{}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{
			"namespace": "shop", "name": name, "uid": "u", "resourceVersion": "7",
			"managedFields": []any{map[string]any{
				"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1",
				"fieldsType": "FieldsV1",
				"fieldsV1":   map[string]any{"f:data": owned},
			}},
		},
	}}
}

// fixOf returns the plan of a baseline for a ConfigMap that drifted, reduced to the drift.
func fixOf(t *testing.T, steps ...plan.Step) (*plan.Plan, *revision) {
	t.Helper()
	want := configMap("flags", map[string]any{"a": "1"})
	want.SetManagedFields(nil)
	live := configMap("flags", map[string]any{"a": "2", "b": "3"})
	ref := object.RefOf(live)
	wanted := wantedObject{Desired: plan.Desired{Object: want}, plan: &plan.Plan{}}
	found, err := wanted.compare(live, drift.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &revision{
		Fix: &Fix{baseline: &Baseline{}, drift: &Drift{
			Objects: []drift.Object{*found}, wanted: map[object.Ref]wantedObject{ref: wanted},
			live: map[object.Ref]*unstructured.Unstructured{ref: live},
		}},
		plan: &plan.Plan{Steps: steps}, drifted: map[object.Ref]*drift.Object{ref: found},
		created: map[object.Ref]bool{},
	}
	for i := range steps {
		if err := r.step(&steps[i]); err != nil {
			t.Fatal(err)
		}
	}
	return r.plan, r
}

func TestFixReducesThePlan(t *testing.T) {
	ref := func(name string) object.Ref {
		return object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	other := configMap("other", map[string]any{"a": "1"})
	p, _ := fixOf(t,
		plan.Step{Ref: ref("flags"), Op: plan.Update, Wait: true},
		plan.Step{Ref: ref("other"), Op: plan.Update, Have: other, Wait: true},
		plan.Step{Ref: ref("new"), Op: plan.Create},
		plan.Step{Ref: ref("old"), Op: plan.Delete},
		plan.Step{Ref: ref("foreign"), Op: plan.Skip, ReasonCode: plan.ReasonForeign},
	)
	var ops []string
	for _, step := range p.Steps {
		ops = append(ops, string(step.Op))
	}
	if got := strings.Join(ops, " "); got != "update unchanged create keep skip" {
		t.Errorf("operations: %s", got)
	}
	if p.Steps[1].Wait || !p.Steps[0].Wait {
		t.Error("exactly the object that drifted is waited for")
	}
	if got := string(p.Steps[0].Patch.Data); got != `{"data":{"a":"1","b":null}}` {
		t.Errorf("patch: %s", got)
	}
}

func TestFixComparesAgain(t *testing.T) {
	step := func() *plan.Step {
		p, _ := fixOf(t, plan.Step{
			Ref: object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "flags"}, Op: plan.Update,
		})
		return &p.Steps[0]
	}
	again := configMap("flags", map[string]any{"a": "2", "b": "3"})
	again.SetResourceVersion("8")
	again.SetLabels(map[string]string{})
	next, err := step().Reverts(again)
	if err != nil || next.Op != plan.Update || next.Have.GetResourceVersion() != "8" {
		t.Errorf("the same drift: %v, %v", next, err)
	}
	next, err = step().Reverts(configMap("flags", map[string]any{"a": "1"}))
	if err != nil || next.Op != plan.Unchanged {
		t.Errorf("no drift any more: %v, %v", next, err)
	}
	_, err = step().Reverts(configMap("flags", map[string]any{"a": "5", "b": "3"}))
	if err == nil || !strings.HasPrefix(err.Error(), "others changed data.a since") {
		t.Errorf("another edit: %v", err)
	}
}

func TestRemainingDriftHasReasons(t *testing.T) {
	ref := func(name string) object.Ref {
		return object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	found := &Drift{Objects: []drift.Object{
		{Ref: ref("changed"), Kind: drift.Changed, Fields: []drift.Field{
			{Path: "data.a"}, {Path: "data.b"}, {Path: "data.c", Left: "controller"},
		}},
		{Ref: ref("controlled"), Kind: drift.Changed, Fields: []drift.Field{{Left: "controller"}}},
		{Ref: ref("deleted"), Kind: drift.Deleted},
		{Ref: ref("going"), Kind: drift.Deleted, Deleting: true},
		{Ref: ref("kept"), Kind: drift.Added},
	}}
	want := []LeftDrift{
		{ref("changed"), "data.a, data.b; the server, a webhook or another manager sets it otherwise"},
		{ref("deleted"), "it does not exist"},
		{ref("going"), "it is being deleted"},
		{ref("kept"), "--delete-added deletes it"},
	}
	got := remaining(found, map[object.Ref]string{ref("kept"): "--delete-added deletes it"})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
