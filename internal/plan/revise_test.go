package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestGuard: a step with a guard is decided again for an object whose content is the same, and for
// no other. What of an object counts is up to the caller.
func TestGuard(t *testing.T) {
	content := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		obj = obj.DeepCopy()
		obj.SetLabels(nil)
		obj.SetAnnotations(nil)
		return obj
	}
	const before = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "1"},
		data: {k: v}}`
	update := plan.Step{Op: plan.Update, Have: parsed(t, before)}
	p := &plan.Plan{Steps: []plan.Step{{Op: plan.Barrier}, update}}
	p.Guard(content)
	if p.Steps[0].Permit != nil {
		t.Error("a step without an object has a guard")
	}
	created := &plan.Plan{Steps: []plan.Step{{Op: plan.Create}}}
	created.Guard(nil)
	if err := created.Steps[0].Permit(parsed(t, before)); err == nil {
		t.Error("an object is written over that others created")
	}
	all := &plan.Plan{Steps: []plan.Step{update}}
	all.Guard(nil)
	for live, permitted := range map[string]bool{
		before: true,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "2", labels: {x: y},
		  annotations: {b: c}}, data: {k: v}}`: true,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: "2"},
		  data: {k: w}}`: false,
	} {
		err := p.Steps[1].Permit(parsed(t, live))
		refused := err != nil && strings.Contains(err.Error(), "others changed it")
		if permitted != (err == nil) || permitted == refused {
			t.Errorf("%s: %v", live, err)
		}
		err = all.Steps[0].Permit(parsed(t, live))
		if (err == nil) != (live == before) {
			t.Errorf("all of it counts, %s: %v", live, err)
		}
	}
}

// A run that waits for nothing, or for some objects, still waits for deletions that other steps
// have to follow.
func TestAwaitOnly(t *testing.T) {
	ref := func(kind, name string) object.Ref { return object.Ref{Kind: kind, Name: name} }
	for kind, want := range map[string][]bool{
		"":          {false, true, true, false, false},
		"Pod":       {true, true, true, false, false},
		"ConfigMap": {false, true, true, false, true},
	} {
		p := &plan.Plan{Steps: []plan.Step{
			{Ref: ref("Pod", "applied"), Op: plan.Create, Wait: true},
			{Ref: ref("ConfigMap", "dependent"), Op: plan.Delete, Wait: true},
			{Ref: ref("ConfigMap", "resource"), Op: plan.Delete, Wait: true},
			{Op: plan.Guard, After: []int{2}},
			{Ref: ref("ConfigMap", "base"), Op: plan.Delete, Wait: true, Needs: []int{1}},
		}}
		var awaits func(object.Ref) bool
		if kind != "" {
			awaits = func(ref object.Ref) bool { return ref.Kind == kind }
		}
		if unseen := p.AwaitOnly(awaits); unseen != (kind != "Pod") {
			t.Errorf("only %q: a pod is not seen: %t", kind, unseen)
		}
		var waits []bool
		for _, step := range p.Steps {
			waits = append(waits, step.Wait)
		}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Errorf("what is waited for, only %q (-want +got):\n%s", kind, diff)
		}
	}
}

// A step that is excluded changes nothing, also of an object that others change meanwhile.
func TestExcludedStep(t *testing.T) {
	live := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}`)
	for op, want := range map[plan.Op]plan.Op{plan.Update: plan.Skip, plan.Delete: plan.Keep} {
		step := plan.Step{Op: op, Have: live, Wait: true, Force: true}
		step.Exclude("why")
		if step.Op != want || step.Reason != "why" || step.Wait || step.Force {
			t.Errorf("%s becomes %+v", op, step)
		}
		other := live.DeepCopy()
		next, err := step.Reverts(other)
		if err != nil || next.Op.Writes() || next.Have != other {
			t.Errorf("%s, changed meanwhile: %+v, %v", op, next, err)
		}
	}
}

// parsed returns an object from a text in YAML.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
