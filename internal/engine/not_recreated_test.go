package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// writeMode is a way in which a plan writes objects.
type writeMode struct {
	name                      string
	serverSide, preconditions bool
	creates                   string // the method of a creation
}

// writeModes are all ways.
var writeModes = []writeMode{
	{name: "client-side", creates: "create"},
	{name: "server-side", serverSide: true, creates: "apply"},
	{name: "server-side with preconditions", serverSide: true, preconditions: true, creates: "apply"},
}

// everyWrite runs a test for each way to write and each condition under which objects are
// recreated.
func everyWrite(t *testing.T, test func(*testing.T, writeMode, plan.Replacement)) {
	t.Helper()
	for _, mode := range writeModes {
		for _, in := range []plan.Replacement{
			plan.ReplaceAlways, plan.ReplaceInvalid, plan.ReplaceImmutable,
		} {
			each(t, mode.name+" "+string(in), func(t *testing.T) { test(t, mode, in) })
		}
	}
}

// replaceOld applies a ConfigMap "a" with the annotation is=new in place of one that is immutable
// and has a finalizer, which holds it for some time; zero is for ever. Answers are those to the
// writes after the deletion.
func (w *world) replaceOld(
	ctx context.Context, t *testing.T, mode writeMode, in plan.Replacement, o engine.Options,
	holds time.Duration, answers ...error,
) event.Summary {
	t.Helper()
	rules := policy()
	rules.RecreateHint = "recreate KIND"
	rules.Replacement = func(obj *unstructured.Unstructured) (plan.Replacement, error) {
		if obj.GetName() == "a" {
			return in, nil
		}
		return "", nil
	}
	old := thing("ConfigMap/a", "is=old", "owner=me")
	old.SetFinalizers([]string{"hold"})
	w.Put(old)
	w.store.State.Members = nil
	if _, err := w.apply(t.Context(), policy(), realRun,
		want(thing("ConfigMap/a", "is=old"))...); err != nil {
		t.Fatal(err)
	}
	w.lines, w.Wrote = nil, nil
	w.Lingers = map[object.Ref]time.Duration{ref("ConfigMap/a"): holds}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil)
	before := map[plan.Replacement][]error{
		plan.ReplaceAlways: {nil, nil}, plan.ReplaceInvalid: {invalid, nil, nil},
		plan.ReplaceImmutable: {invalid, nil, nil},
	}[in]
	w.Answers = map[object.Ref][]error{ref("ConfigMap/a"): append(before, answers...)}
	desired := want(thing("ConfigMap/a", "is=new"))
	rules.ServerSide = mode.serverSide
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	p, err := e.Plan(t.Context(), engine.Request{Desired: desired, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	p.Preconditions = mode.preconditions
	summary, err := e.Apply(ctx, p, o, func(ev event.Event) {
		w.lines = append(w.lines, line(ev))
		if w.hear != nil {
			w.hear(ev)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// The object is created once the old one is gone, however it is written.
func TestRecreateOnceGone(t *testing.T) {
	everyWrite(t, func(t *testing.T, mode writeMode, in plan.Replacement) {
		w := newWorld(&enginetest.Cluster{})
		summary := w.replaceOld(t.Context(), t, mode, in, realRun, time.Minute)
		if summary.Failures() > 0 || w.is("ConfigMap/a") != "new" {
			t.Errorf("the object is %q:\n%s", w.is("ConfigMap/a"), strings.Join(w.lines, "\n"))
		}
		expectWritten(t, w, "save record", "delete n/configmap/a", mode.creates+" n/configmap/a",
			"save record")
	})
}

// A run that deletes an object and does not create it again says so, and why, whatever the reason
// is, and does not succeed. The object stays in the record, and the next run creates it.
func TestNotRecreated(t *testing.T) {
	const stays = "it is being deleted and waits for its finalizers: hold"
	for _, tc := range []struct {
		name    string
		holds   time.Duration // zero is for ever
		answers []error
		limits  engine.Limits
		ends    func(context.Context) (context.Context, context.CancelFunc)
		others  bool
		why     string
	}{
		{name: "it stays too long", limits: engine.Limits{Delete: limit.After(time.Minute)},
			why: "timed out after 1m0s: the old object still exists: " + stays},
		{name: "the run is interrupted",
			ends: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Minute)
			}, why: "the run was interrupted: the old object still exists: " + stays},
		{name: "the time of the run is over",
			ends: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, time.Minute, engine.ErrOutOfTime)
			}, why: "the time of the run is over: the old object still exists: " + stays},
		{name: "the server refuses the creation", holds: time.Minute, answers: []error{forbidden},
			why: forbidden.Error()},
		{name: "others create one", others: true, why: "it belongs to"},
		{name: "the run is interrupted while the creation is repeated", holds: time.Second,
			answers: []error{hiccup, hiccup, hiccup, hiccup, hiccup, hiccup},
			ends: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 2500*time.Millisecond)
			}, why: "the run was interrupted: " + hiccup.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everyWrite(t, func(t *testing.T, mode writeMode, in plan.Replacement) {
				w := newWorld(&enginetest.Cluster{})
				ctx, cancel := context.WithCancel(t.Context())
				if tc.ends != nil {
					ctx, cancel = tc.ends(ctx)
				}
				defer cancel()
				var acted, settled []event.Event
				w.hear = func(e event.Event) {
					switch e.Kind {
					case event.Acted:
						acted = append(acted, e)
					case event.Settled:
						settled = append(settled, e)
					}
				}
				if tc.others {
					time.AfterFunc(30*time.Second, func() {
						other := thing("ConfigMap/a", "owner=others")
						other.SetUID("another")
						w.Put(other)
					})
				}
				o := engine.Options{DryRun: engine.DryRunNone, Limits: tc.limits}
				summary := w.replaceOld(ctx, t, mode, in, o, tc.holds, tc.answers...)
				acted, settled = acted[1:], settled[1:] // without those of the first run
				if len(acted) != 1 || len(settled) != 1 || summary.Failures() != 1 {
					t.Fatalf("%+v:\n%s", summary, strings.Join(w.lines, "\n"))
				}
				if acted[0].Outcome != event.Failed || acted[0].Err == nil || !acted[0].NotRecreated ||
					summary.NotRecreated != 1 {
					t.Fatalf("acted %s: %v", acted[0].Outcome, acted[0].Err)
				}
				text := acted[0].Err.Error()
				if !strings.HasPrefix(text, "deleted, but not created again: "+tc.why) ||
					!strings.Contains(text, "apply again") || settled[0].Err != acted[0].Err {
					t.Errorf("error %q, settled with %v", text, settled[0].Err)
				}
				w.expectRecord(t, notRecreated(settled[0].Outcome))
			})
		})
	}
}

// notRecreated returns the line of expectRecord for an object that was deleted and not created
// again.
func notRecreated(settled event.Outcome) string {
	if settled == event.Interrupted {
		return "configmap/a Apply Failed Pending"
	}
	return "configmap/a Apply Failed Failed"
}

// An object that is not recreated, since the run ends after the failure of another one, is no less
// deleted: it does not count as skipped.
func TestNotRecreatedAfterFailure(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Takes: time.Second,
			Fails: map[object.Ref]error{ref("ConfigMap/bad"): forbidden},
			Slow:  map[object.Ref]time.Duration{ref("ConfigMap/bad"): time.Minute}})
		there := thing("ConfigMap/a")
		there.SetFinalizers([]string{"hold"})
		step := update(w.put(there), "new")
		step.Replace = plan.ReplaceAlways
		o := w.judging()
		o.StopOn.WriteError = true
		var acted []string
		w.hear = func(e event.Event) {
			if e.Kind == event.Acted && e.Ref == ref("ConfigMap/a") {
				acted = append(acted, line(e))
			}
		}
		w.run(t.Context(), t, o, step, create("ConfigMap/bad"))
		text := strings.Join(acted, "\n")
		if !strings.Contains(text, "failed: deleted, but not created again: the run ended early") {
			t.Errorf("acted %q", acted)
		}
	})
}

// A run that must not write any more, since it has lost its lock between the deletion and the
// creation, says what it has deleted.
func TestNotRecreatedWithoutLock(t *testing.T) {
	everyWrite(t, func(t *testing.T, mode writeMode, in plan.Replacement) {
		w := newWorld(&enginetest.Cluster{})
		lost := errors.New("the lock is lost")
		ctx := cluster.Guard(t.Context(), func(context.Context) error {
			if w.Object(ref("ConfigMap/a")).GetDeletionTimestamp() != nil {
				return lost
			}
			return nil
		})
		var failure error
		w.hear = func(e event.Event) {
			if e.Kind == event.Acted {
				failure = e.Err
			}
		}
		summary := w.replaceOld(ctx, t, mode, in, realRun, time.Minute)
		if summary.Failures() != 1 || failure == nil ||
			!strings.HasPrefix(failure.Error(), "deleted, but not created again: ") ||
			!errors.Is(failure, lost) {
			t.Errorf("%+v: %v", summary, failure)
		}
	})
}

// TestRefusedCreationDeletesNothing has a server that would refuse the new object: the old one
// stays, also in a dry run, which fails like the run.
func TestRefusedCreationDeletesNothing(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil)
	for _, mode := range writeModes {
		for _, in := range []plan.Replacement{plan.ReplaceAlways, plan.ReplaceInvalid} {
			for _, dryRun := range []engine.DryRun{
				engine.DryRunNone, engine.DryRunClient, engine.DryRunServer,
			} {
				each(t, mode.name+" "+string(in)+" "+string(dryRun), func(t *testing.T) {
					w := newWorld(&enginetest.Cluster{})
					w.Refuses = func(write cluster.Write) error {
						if write.Object.GetAnnotations()["is"] == "new" {
							return invalid
						}
						return nil
					}
					o := engine.Options{DryRun: dryRun}
					summary := w.replaceOld(t.Context(), t, mode, in, o, time.Minute)
					left := w.Object(ref("ConfigMap/a"))
					if summary.Failures() != 1 || left == nil || left.GetDeletionTimestamp() != nil {
						t.Errorf("the object is %v:\n%s", left, strings.Join(w.lines, "\n"))
					}
				})
			}
		}
	}
}

// TestQuotaOfTheLiveObject has a quota that the live object uses up: the new one fits after it.
func TestQuotaOfTheLiveObject(t *testing.T) {
	used := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
		errors.New("exceeded quota: one, requested: count/configmaps=1, used: count/configmaps=1"))
	for _, mode := range writeModes {
		each(t, mode.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			w.Refuses = func(write cluster.Write) error {
				if write.Method == cluster.Create && write.DryRun {
					return used
				}
				return nil
			}
			o := engine.Options{DryRun: engine.DryRunNone}
			summary := w.replaceOld(t.Context(), t, mode, plan.ReplaceAlways, o, time.Minute)
			left := w.Object(ref("ConfigMap/a"))
			if summary.Failures() != 0 || left.GetAnnotations()["is"] != "new" {
				t.Errorf("the object is %v:\n%s", left, strings.Join(w.lines, "\n"))
			}
		})
	}
}

// TestDeletesNothingWithoutTheRightToCreate has a user who may delete objects and not create them.
func TestDeletesNothingWithoutTheRightToCreate(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "",
		errors.New(`User "jane" cannot create resource "configmaps" in API group ""`))
	for _, mode := range writeModes {
		each(t, mode.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			w.Refuses = func(write cluster.Write) error {
				if write.Method == cluster.Create {
					return refused
				}
				return nil
			}
			o := engine.Options{DryRun: engine.DryRunNone}
			summary := w.replaceOld(t.Context(), t, mode, plan.ReplaceAlways, o, time.Minute)
			left := w.Object(ref("ConfigMap/a"))
			if summary.Failures() != 1 || left == nil || left.GetDeletionTimestamp() != nil {
				t.Errorf("the object is %v:\n%s", left, strings.Join(w.lines, "\n"))
			}
		})
	}
}
