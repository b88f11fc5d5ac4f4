package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// before and after are two versions of a set that share some objects; between them things are
// created, updated, pruned, orphaned and waited for, and values are taken from others. after moves
// on from before.
func before() []plan.Desired {
	return want(
		thing("Namespace/n"),
		thing("ConfigMap/a"),
		thing("ConfigMap/b"),
		thing("ConfigMap/left", "keep=yes"),
		thing("Deployment/old"),
		thing("Deployment/web", "after=ConfigMap/a"),
		taker("t", "ConfigMap/a", "$.metadata.name"),
	)
}

func after() []plan.Desired {
	return want(
		thing("Namespace/n"),
		thing("ConfigMap/b", "new=yes"),
		thing("ConfigMap/c"),
		thing("Deployment/web", "after=ConfigMap/c"),
		taker("t", "ConfigMap/c", "$.metadata.name"),
		taker("u", "Deployment/web", "$.status.conditions[0].status"),
	)
}

// crashWorld is a cluster in which before was deployed.
func crashWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(&enginetest.Cluster{
		Takes: 10 * time.Millisecond,
		Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/web"): {{After: time.Second, Status: available}},
			ref("Deployment/old"): {{After: time.Second, Status: available}},
		},
		Lingers: map[object.Ref]time.Duration{ref("Deployment/old"): time.Second},
	})
	if _, err := w.apply(t.Context(), home(), engine.Options{DryRun: engine.DryRunNone,
		Concurrency: 2},
		before()...); err != nil {
		t.Fatal(err)
	}
	w.Wrote, w.lines = nil, nil
	return w
}

func home() plan.Policy {
	p := policy()
	p.RecordNamespace = ref("Namespace/n")
	p.Retain = []plan.Annotation{{Key: "keep", Value: "yes"}}
	return p
}

// ours are the objects that are marked as such. What was orphaned is not.
func (w *world) ours() *object.Set {
	marked := object.NewSet()
	for _, ref := range w.Refs().Refs() {
		// It may be gone by then.
		if obj := w.Object(ref); obj != nil && obj.GetAnnotations()["owner"] == "me" {
			marked.Insert(ref)
		}
	}
	return marked
}

// expectTracked checks the superset rule: whatever exists because of us is in the record.
func expectTracked(t *testing.T, w *world) {
	t.Helper()
	recorded := object.NewSet(w.store.State.Refs()...)
	for _, ref := range w.ours().Refs() {
		if !recorded.Has(ref) {
			t.Errorf("%s exists but is not in the record", ref)
		}
	}
}

// expectContinued runs again, undisturbed, and checks that exactly after exists and is recorded,
// and that destroying then leaves nothing.
func expectContinued(t *testing.T, w *world) {
	t.Helper()
	w.Revive()
	w.hear = nil
	summary, err := w.apply(t.Context(), home(), realRun, after()...)
	if err != nil || summary.Failures() != 0 {
		t.Fatalf("running again = %+v, %v", summary, err)
	}
	names := func(refs []object.Ref) map[object.Ref]bool {
		set := map[object.Ref]bool{}
		for _, ref := range refs {
			set[ref] = true
		}
		return set
	}
	var desired []object.Ref
	for _, d := range after() {
		desired = append(desired, object.RefOf(d.Object))
	}
	if diff := cmp.Diff(names(desired), names(w.ours().Refs())); diff != "" {
		t.Errorf("what exists after running again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(names(desired), names(w.store.State.Refs())); diff != "" {
		t.Errorf("what is recorded after running again (-want +got):\n%s", diff)
	}
	if _, err := w.apply(t.Context(), home(), realRun); err != nil || w.ours().Len() != 0 ||
		!w.store.Deleted {
		t.Errorf("destroying: %v, left %v, record deleted %t", err, w.ours().Refs(), w.store.Deleted)
	}
}

var forbidden = apierrors.NewForbidden(
	schema.GroupResource{Resource: "things"},
	"a",
	errors.New("not now"),
)

// TestInterruptAfterEveryEvent ends the context after each event in turn.
func TestInterruptAfterEveryEvent(t *testing.T) {
	eachMoment(t, 10, func(t *testing.T, moment int) bool {
		w := crashWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.hear = func(event.Event) {
			if len(w.lines) == moment {
				cancel()
			}
		}
		summary, err := w.apply(ctx, home(), engine.Options{DryRun: engine.DryRunNone,
			Concurrency: 2}, after()...)
		if err != nil {
			t.Fatal(err)
		}
		reached := ctx.Err() != nil
		if unfinished := summary.Settled[event.Interrupted] > 0; unfinished != summary.Interrupted {
			t.Errorf(
				"%d steps were interrupted, but the summary says interrupted: %t",
				summary.Settled[event.Interrupted],
				summary.Interrupted,
			)
		}
		if summary.Settled[event.Failed]+summary.Settled[event.TimedOut] > 0 {
			t.Errorf("an interrupt made steps fail: %+v", summary)
		}
		expectTracked(t, w)
		expectContinued(t, w)
		return reached
	})
}

// TestFailureAfterEveryEvent has every write fail after each event in turn, in a run that the first
// failure ends.
func TestFailureAfterEveryEvent(t *testing.T) {
	eachMoment(t, 10, func(t *testing.T, moment int) bool {
		w := crashWorld(t)
		came := false
		w.hear = func(event.Event) {
			if len(w.lines) == moment {
				came = true
				w.Refuse(forbidden)
			}
		}
		o := engine.Options{DryRun: engine.DryRunNone, Concurrency: 2}
		o.StopOn = engine.StopOn{WriteError: true, WaitError: true, Stuck: true}
		if _, err := w.apply(t.Context(), home(), o, after()...); err != nil {
			t.Fatal(err)
		}
		w.Refuse(nil)
		expectTracked(t, w)
		expectContinued(t, w)
		return came
	})
}

// TestDeathAfterEveryEvent cuts the process off after each event in turn: nothing that it sends
// from then on arrives.
func TestDeathAfterEveryEvent(t *testing.T) {
	eachMoment(t, 10, func(t *testing.T, moment int) bool {
		w := crashWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.hear = func(event.Event) {
			if len(w.lines) == moment {
				w.Kill()
				cancel()
			}
		}
		_, _ = w.apply(
			ctx,
			home(),
			engine.Options{DryRun: engine.DryRunNone, Concurrency: 2},
			after()...) // whatever it says, nobody hears it
		expectTracked(t, w)
		expectContinued(t, w)
		return ctx.Err() != nil
	})
}

// TestDeathAtEveryChange cuts the process off at each change in turn: it is stored, but the answer
// is lost.
func TestDeathAtEveryChange(t *testing.T) {
	eachMoment(t, 7, func(t *testing.T, moment int) bool {
		w := crashWorld(t)
		w.Dies = moment
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.apply(ctx, home(), engine.Options{DryRun: engine.DryRunNone,
			Concurrency: 2}, after()...)
		expectTracked(t, w)
		expectContinued(t, w)
		return errors.Is(err, enginetest.ErrDead)
	})
}

// eachMoment runs a test for moments 1, 2, … until it reports that its moment never came. At least
// a number of them must.
func eachMoment(t *testing.T, atLeast int, test func(t *testing.T, moment int) (came bool)) {
	t.Helper()
	for moment := 1; ; moment++ {
		came := false
		t.Run(fmt.Sprint(moment), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { came = test(t, moment) })
		})
		if !came || t.Failed() {
			if moment <= atLeast {
				t.Errorf("only %d moments came, expected at least %d", moment-1, atLeast)
			}
			return
		}
	}
}
