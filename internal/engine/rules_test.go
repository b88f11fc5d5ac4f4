package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// phases are rules by which the phase in the status of an object is its message: ready, failed and
// release mean that. An object without a phase is ready, but for Deployments. With pods, the rules
// see the pods of Deployments that have these labels and the name of the Deployment.
type phases struct {
	pods   bool
	labels map[string]string
}

// Judge returns the verdict that the phase stands for.
func (phases) Judge(
	obj *unstructured.Unstructured,
	children []*unstructured.Unstructured,
) ready.Verdict {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	verdict := ready.Verdict{
		Final:    true,
		Releases: phase == "release",
		Status:   ready.Status{State: ready.InProgress, Message: phase},
	}
	switch {
	case obj.GetDeletionTimestamp() != nil:
		verdict.Status.Message = fmt.Sprintf("held by %v", obj.GetFinalizers())
	case phase == "ready", phase == "" && obj.GetKind() != "Deployment":
		verdict.Status.State = ready.Current
	case phase == "failed":
		verdict.Status.State = ready.Failed
	}
	for _, child := range children {
		phase, _, _ := unstructured.NestedString(child.Object, "status", "phase")
		verdict.Children = append(
			verdict.Children,
			ready.Child{
				Ref:     object.RefOf(child),
				Version: child.GetAPIVersion(),
				Status:  ready.Status{Message: phase},
			},
		)
	}
	return verdict
}

// Leaving returns the same for an object that is being deleted.
func (p phases) Leaving(
	obj *unstructured.Unstructured,
) ready.Status {
	return p.Judge(obj, nil).Status
}

// Children selects the pods of a Deployment.
func (p phases) Children(obj *unstructured.Unstructured) ([]schema.GroupKind, map[string]string) {
	if !p.pods || obj.GetKind() != "Deployment" {
		return nil, nil
	}
	labels := map[string]string{"of": obj.GetName()}
	maps.Copy(labels, p.labels)
	return []schema.GroupKind{{Kind: "Pod"}}, labels
}

// decisions is a plan.Decider made of functions; those that are nil decide nothing.
type decisions struct {
	replan func(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error)
	amend  func(step *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Complete returns the step itself.
func (d decisions) Complete(step *plan.Step, _ *unstructured.Unstructured) (*plan.Step, error) {
	return step, nil
}

// Replan calls the function.
func (d decisions) Replan(
	step *plan.Step,
	live *unstructured.Unstructured,
	refused error,
) (*plan.Step, error) {
	if d.replan == nil {
		return nil, refused
	}
	return d.replan(step, live, refused)
}

// Exclude returns the step itself.
func (d decisions) Exclude(step *plan.Step) (*plan.Step, error) { return step, nil }

// Recreate returns the step itself, which has the object.
func (d decisions) Recreate(step *plan.Step) (*plan.Step, error) { return step, nil }

// Amend calls the function.
func (d decisions) Amend(
	step *plan.Step,
	stored *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if d.amend == nil {
		return nil, nil
	}
	return d.amend(step, stored)
}

// phase is a status for judged.
func phase(name string) map[string]any { return map[string]any{"phase": name} }

// after is a change of phase.
func phaseAfter(seconds int, name string) enginetest.Change {
	return enginetest.Change{After: time.Duration(seconds) * time.Second, Status: phase(name)}
}

// put puts an object into the cluster and returns it.
func (w *world) put(obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.Put(obj)
	return w.Object(object.RefOf(obj))
}

// create is a step that creates an object and waits for it.
func create(name string, needs ...int) plan.Step {
	return plan.Step{Ref: ref(name), Op: plan.Create, Want: thing(name), Wait: true, Needs: needs}
}

// update is a step that sends an object with an annotation in place of the one that is there, and
// waits for it.
func update(have *unstructured.Unstructured, annotation string) plan.Step {
	wanted := have.DeepCopy()
	wanted.SetAnnotations(map[string]string{"is": annotation})
	return plan.Step{
		Ref:         object.RefOf(have),
		Op:          plan.Update,
		Have:        have,
		Want:        wanted,
		Wait:        true,
		FullReplace: true,
	}
}

// run carries steps out without a record.
func (w *world) run(
	ctx context.Context,
	t *testing.T,
	o engine.Options,
	steps ...plan.Step,
) event.Summary {
	t.Helper()
	e := &engine.Engine{Cluster: w.Cluster, Records: record.Discard{}, Rules: w.rules}
	summary, err := e.Apply(
		ctx,
		&plan.Plan{Steps: steps, Decider: w.decider},
		o,
		func(ev event.Event) {
			w.lines = append(w.lines, line(ev))
			if w.hear != nil {
				w.hear(ev)
			}
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// judging returns options for runs by the rules of phases, without a diagnosis.
func (w *world) judging() engine.Options {
	w.rules = phases{}
	return engine.Options{DryRun: engine.DryRunNone, NoCauses: true}
}

// is the annotation of an object that update sets; "gone" if there is no such object.
func (w *world) is(name string) string {
	obj := w.Object(ref(name))
	if obj == nil {
		return "gone"
	}
	return obj.GetAnnotations()["is"]
}

// each runs a test in a time of its own.
func each(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestJudgement(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changes []enginetest.Change
		options func(*engine.Options, *plan.Step)
		want    string
	}{
		{"every change is printed, and the end", []enginetest.Change{phaseAfter(1, "one"), phaseAfter(2, "one"), phaseAfter(3, "two"), phaseAfter(4, "ready")}, nil, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			observed create deployment.apps/web (InProgress)
			observed create deployment.apps/web (InProgress)
			settled create deployment.apps/web succeeded (Current)`},
		{"what has failed is not waited for", []enginetest.Change{phaseAfter(1, "failed"), phaseAfter(2, "ready")}, nil, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			settled create deployment.apps/web failed (Failed)`},
		{"by its own limit", nil, func(o *engine.Options, s *plan.Step) {
			s.Timeout, o.Limits.Idle = time.Minute, limit.After(time.Hour)
		}, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			settled create deployment.apps/web timed out by its own limit (InProgress)`},
		{"by the limit of the run", nil, func(o *engine.Options, s *plan.Step) { s.Timeout, o.Limits.Idle = time.Hour, limit.After(time.Minute) }, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			settled create deployment.apps/web timed out (InProgress)`},
		{"somebody deletes it", []enginetest.Change{{After: time.Second, Gone: true}}, nil, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			settled create deployment.apps/web failed: it was deleted while it was waited for`},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(
				&enginetest.Cluster{
					Script: map[object.Ref][]enginetest.Change{ref("Deployment/web"): tc.changes},
				},
			)
			o, step := w.judging(), create("Deployment/web")
			if tc.options != nil {
				tc.options(&o, &step)
			}
			w.run(t.Context(), t, o, step)
			w.expect(t, tc.want)
		})
	}
}

// What is ready with the answer to its write, or was when it was read, costs no request.
func TestReadyAtOnceIsNotWatched(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	there := w.put(thing("ConfigMap/there"))
	w.run(
		t.Context(),
		t,
		w.judging(),
		create("ConfigMap/a"),
		update(w.put(thing("ConfigMap/b")), "new"),
		plan.Step{Ref: ref("ConfigMap/there"), Op: plan.Unchanged, Have: there, Want: there, Wait: true},
		plan.Step{Ref: ref("ConfigMap/there"), Op: plan.AwaitCreated, Have: there, Wait: true},
	)
	if len(w.Watched)+len(w.Asked)+len(w.Queries) > 0 || len(w.Sent) != 2 {
		t.Errorf("watches %v, reads %v, surveys %v, writes %v", w.Watched, w.Asked, w.Queries, w.Sent)
	}
	if !slices.Contains(w.lines, "settled await-created configmap/there succeeded (Current)") {
		t.Errorf("%q", w.lines)
	}
}

// Who is released starts, and the step that released it may still fail.
func TestRelease(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/db"): {
				phaseAfter(1, "release"),
				phaseAfter(2, "more"),
				phaseAfter(3, "release"),
				phaseAfter(4, "failed"),
			},
		}})
		join := plan.Step{Op: plan.Barrier, Needs: []int{0}}
		summary := w.run(
			t.Context(),
			t,
			w.judging(),
			create("Deployment/db"),
			join,
			create("ConfigMap/a", 1),
		)
		w.expect(t, `
			acted create deployment.apps/db succeeded
			waiting create deployment.apps/db (InProgress)
			observed create deployment.apps/db released (InProgress)
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)
			observed create deployment.apps/db (InProgress)
			observed create deployment.apps/db (InProgress)
			settled create deployment.apps/db failed (Failed)`)
		if summary.Failures() != 1 {
			t.Errorf("%+v", summary)
		}
	})
}

// An object that has released its dependents and never becomes ready times out as any other.
func TestReleaseTimesOut(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/db"): {phaseAfter(1, "release")},
		}})
		o := w.judging()
		o.Limits.Idle = limit.After(time.Minute)
		began := time.Now()
		w.run(t.Context(), t, o, create("Deployment/db"), create("ConfigMap/a", 0))
		if took := time.Since(began); took != 61*time.Second {
			t.Errorf("it took %s", took)
		}
		w.expect(t, `
			acted create deployment.apps/db succeeded
			waiting create deployment.apps/db (InProgress)
			observed create deployment.apps/db released (InProgress)
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)
			settled create deployment.apps/db timed out (InProgress)`)
	})
}

// A step that joins others hands their failure on, without a word about itself.
func TestJoinOfFailedSteps(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Fails: map[object.Ref]error{ref("ConfigMap/a"): forbidden}})
		var blocker *int
		w.hear = func(e event.Event) {
			if e.Kind == event.Acted && e.Ref == ref("ConfigMap/c") {
				blocker = e.Blocker
			}
		}
		w.run(
			t.Context(),
			t,
			w.judging(),
			create("ConfigMap/b"),
			create("ConfigMap/a"),
			plan.Step{Op: plan.Barrier, Needs: []int{0, 1}},
			plan.Step{Op: plan.Barrier, Needs: []int{2}},
			create("ConfigMap/c", 3),
		)
		if blocker == nil || *blocker != 1 {
			t.Errorf("blocked by %v:\n%q", blocker, w.lines)
		}
		if len(w.lines) != 6 {
			t.Errorf("events: %q", w.lines)
		}
	})
}
