package sets

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/history"
	objects "github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestCompletionRemoved: a Job has removed itself if it has the content that was seen to succeed,
// and its time is over.
func TestCompletionRemoved(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	job := func(ttl any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate"},
			"spec": map[string]any{"ttlSecondsAfterFinished": ttl},
		}}
	}
	for name, test := range map[string]struct {
		ttl     any
		ago     time.Duration
		seen    any // the content that was seen to succeed
		removed bool
	}{
		"at once":       {int64(0), time.Second, int64(0), true},
		"clock behind":  {int64(0), -30 * time.Second, int64(0), true},
		"its time":      {int64(3600), time.Hour, int64(3600), true},
		"before that":   {int64(3600), time.Minute, int64(3600), false},
		"other content": {int64(0), time.Hour, int64(1), false},
		"no ttl":        {nil, time.Hour, nil, false},
	} {
		digest, err := history.DigestOf(job(test.seen))
		if err != nil {
			t.Fatal(err)
		}
		c := completion{digest, now.Add(-test.ago)}
		if removed := c.removed(job(test.ttl), now); removed != test.removed {
			t.Errorf("%s: removed %t", name, removed)
		}
	}
	if (completion{}).removed(job(int64(0)), now) {
		t.Error("a Job that nobody has seen succeed counts")
	}
}

// TestIsRenewed: what a Job has done is gone if its namespace is created, or all that was deployed
// in it beside such Jobs.
func TestIsRenewed(t *testing.T) {
	object := func(kind, name string, spec map[string]any) history.Object {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		obj.SetAPIVersion("v1")
		if kind == "Job" {
			obj.SetAPIVersion("batch/v1")
		}
		obj.SetKind(kind)
		obj.SetNamespace("shop")
		obj.SetName(name)
		return history.Object{Unstructured: obj}
	}
	before := []history.Object{
		object("Job", "migrate", map[string]any{"ttlSecondsAfterFinished": int64(0)}),
		object("ConfigMap", "a", nil), object("ConfigMap", "b", nil),
	}
	for name, tc := range map[string]struct {
		a, b    plan.Op
		home    plan.Op
		renewed bool
	}{
		"nothing":   {plan.Unchanged, plan.Update, "", false},
		"one":       {plan.Create, plan.Unchanged, "", false},
		"all":       {plan.Create, plan.Create, "", true},
		"namespace": {plan.Unchanged, plan.Unchanged, plan.Create, true},
		"known":     {plan.Unchanged, plan.Unchanged, plan.Unchanged, false},
	} {
		p := &plan.Plan{Steps: []plan.Step{
			{Op: plan.Create, Ref: refOf(object("Job", "migrate", nil))},
			{Op: tc.a, Ref: refOf(object("ConfigMap", "a", nil))},
			{Op: tc.b, Ref: refOf(object("ConfigMap", "b", nil))},
		}}
		if tc.home != "" {
			home := objects.Ref{Kind: "Namespace", Name: "shop"}
			p.Steps = append(p.Steps, plan.Step{Op: tc.home, Ref: home})
		}
		if got := isRenewed(p, p.Index(), before, "shop"); got != tc.renewed {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func refOf(obj history.Object) objects.Ref { return objects.RefOf(obj.Unstructured) }

func TestCountCompleted(t *testing.T) {
	if n := countCompleted(&plan.Plan{Steps: []plan.Step{
		{ReasonCode: plan.ReasonCompleted}, {Op: plan.Create},
	}}); n != 1 {
		t.Errorf("%d Jobs have removed themselves", n)
	}
}
