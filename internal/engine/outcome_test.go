package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// An object that is wanted under another kind is forgotten under the old one only once it was
// applied under the new one: not if that failed and ended the run.
func TestRenamedObjectIsNotForgottenWhenTheRunEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("Widget/x"))...); err != nil {
			t.Fatal(err)
		}
		moved := w.Object(ref("Widget/x"))
		moved.SetAPIVersion("other.example.com/v1")
		w.Put(moved)
		next := thing("Widget/x", "new=yes")
		next.SetAPIVersion("other.example.com/v1")
		w.Fails = map[object.Ref]error{object.RefOf(next): forbidden}
		if _, err := w.apply(t.Context(), policy(),
			engine.Options{DryRun: engine.DryRunNone,
				StopOn: engine.StopOn{WriteError: true, WaitError: true, Stuck: true}},
			want(next)...); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(t, "widget.example.com/x Delete Skipped Skipped",
			"widget.other.example.com/x Apply Failed Failed")
	})
}

// The namespace that is made before the record, to hold it, is in the record whatever becomes of
// the rest of the run.
func TestNamespaceOfTheRecordIsNotLost(t *testing.T) {
	t.Run("when what it depends on fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(
				&enginetest.Cluster{Fails: map[object.Ref]error{ref("Namespace/other"): forbidden}},
			)
			desired := want(
				thing("Namespace/n", "after=Namespace/other"),
				thing("Namespace/other"),
				thing("ConfigMap/a"),
			)
			if _, err := w.apply(t.Context(), home(), realRun, desired...); err != nil {
				t.Fatal(err)
			}
			w.expect(t, `
				acted create namespace/n succeeded
				settled create namespace/n succeeded (Current)
				acted create namespace/other failed: things "a" is forbidden: not now
				settled create namespace/other failed: things "a" is forbidden: not now
				acted create configmap/a succeeded
				settled create configmap/a succeeded (Current)`)
			w.expectRecord(
				t,
				"namespace/n Apply Succeeded Succeeded",
				"configmap/a Apply Succeeded Succeeded",
			)
		})
	})
	t.Run("when the run ends before its turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			ctx, cancel := context.WithCancel(t.Context())
			w.hear = func(event.Event) { cancel() }
			desired := want(thing("Namespace/a"), thing("Namespace/b"), thing("Namespace/n"))
			if _, err := w.apply(ctx, home(), engine.Options{DryRun: engine.DryRunNone,
				Concurrency: 1}, desired...); err != nil {
				t.Fatal(err)
			}
			w.expectRecord(t, "namespace/n Apply Succeeded Succeeded")
		})
	})
}

// An object goes over to server-side apply by several writes. It is ours with the last of them: one
// that is refused before changes neither its mark nor its values.
func TestObjectIsNotRecordedThatWasTakenOverByHalf(t *testing.T) {
	for refused := 1; refused <= 2; refused++ {
		p := policy()
		p.ServerSide, p.Manager, p.Force = true, "me", true
		p.Owner.Adoption = plan.AdoptUnowned
		live := given("a", "old", "last={}")
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "kubectl-client-side-apply", Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(
				`{"f:data":{"f:value":{}},"f:metadata":{"f:annotations":{"f:last":{}}}}`,
			),
		}})
		w := newWorld(
			&enginetest.Cluster{
				Answers: map[object.Ref][]error{
					ref("ConfigMap/a"): append(make([]error, refused-1), forbidden),
				},
			},
		)
		w.Put(live)
		summary, err := w.apply(t.Context(), p, realRun, want(given("a", "new"))...)
		if err != nil || summary.Failures() != 1 {
			t.Fatalf("write %d refused: %+v, %v", refused, summary, err)
		}
		value, _, _ := unstructured.NestedString(w.Object(ref("ConfigMap/a")).Object, "data", "value")
		if len(w.store.State.Members) != 0 || value != "old" {
			t.Errorf("write %d refused: %s, recorded %v", refused, value, w.store.State.Members)
		}
	}
}

// patient is a policy under which objects with the annotation "nowait" are not waited for.
func patient(p plan.Policy) plan.Policy {
	p.Waiting = func(obj *unstructured.Unstructured) (plan.Waiting, error) {
		return plan.Waiting{Skip: obj.GetAnnotations()["nowait"] != ""}, nil
	}
	return p
}

// What lingers although nobody waits for it stays in the record until it is gone.
func TestDeletionThatIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			&enginetest.Cluster{Lingers: map[object.Ref]time.Duration{ref("ConfigMap/lingers"): time.Hour}},
		)
		desired := want(
			thing("ConfigMap/a"),
			thing("ConfigMap/goes", "nowait=yes"),
			thing("ConfigMap/lingers", "nowait=yes"),
		)
		if _, err := w.apply(t.Context(), patient(policy()), realRun, desired...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.apply(t.Context(), patient(policy()), realRun, desired[0]); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(
			t,
			"configmap/a Apply Succeeded Succeeded",
			"configmap/lingers Delete Succeeded Pending",
		)

		time.Sleep(time.Hour + time.Second)
		if _, err := w.apply(t.Context(), patient(policy()), realRun, desired[0]); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(t, "configmap/a Apply Succeeded Succeeded")
	})
}

// The record goes with its namespace, so what is elsewhere has to be gone before.
func TestNamespaceOfTheRecordWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			&enginetest.Cluster{
				Lingers: map[object.Ref]time.Duration{
					ref("Namespace/other"): time.Hour,
					ref("ConfigMap/a"):     time.Hour,
				},
			},
		)
		desired := want(
			thing("Namespace/n"),
			thing("Namespace/other", "nowait=yes"),
			thing("ConfigMap/a", "nowait=yes"),
		)
		if _, err := w.apply(t.Context(), patient(home()), realRun, desired...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.apply(t.Context(), patient(home()),
			engine.Options{DryRun: engine.DryRunNone,
				Limits: engine.Limits{Delete: limit.After(time.Minute)}}); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(
			t,
			"namespace/n Delete Skipped Skipped",
			"namespace/other Delete Succeeded Timeout",
			"configmap/a Delete Succeeded Pending",
		)
	})
}

// A record that goes with its namespace is no error where the run itself deletes that, though it
// may take long to go.
func TestRecordGoesWithItsNamespace(t *testing.T) {
	for _, tc := range []struct {
		namespace string
		wants     bool
	}{{"n", false}, {"other", true}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(
				&enginetest.Cluster{Lingers: map[object.Ref]time.Duration{ref("Namespace/n"): time.Hour}},
			)
			if _, err := w.apply(t.Context(), home(), realRun,
				want(thing("Namespace/n"), thing("ConfigMap/a"))...); err != nil {
				t.Fatal(err)
			}
			w.hear = func(e event.Event) {
				if e.Ref == ref("Namespace/n") {
					w.store.Fails = &record.NamespaceGoneError{Namespace: tc.namespace, Cause: forbidden}
				}
			}
			summary, err := w.apply(
				t.Context(),
				home(),
				engine.Options{DryRun: engine.DryRunNone,
					Limits: engine.Limits{Delete: limit.After(time.Minute)}},
			)
			if summary.Settled[event.TimedOut] != 1 || (err != nil) != tc.wants {
				t.Errorf("namespace %s: %+v, %v", tc.namespace, summary, err)
			}
		})
	}
}

// An interrupt while the last writes are under way, which nobody waits for, comes too late to cut
// anything short.
func TestInterruptThatCutsNothingShort(t *testing.T) {
	for _, tc := range []struct {
		object string
		cut    bool
	}{{"ConfigMap/a", false}, {"Deployment/a", true}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Takes: time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*time.Millisecond, cancel)
			summary, err := w.apply(
				ctx,
				patient(policy()),
				realRun,
				want(thing("ConfigMap/b", "nowait=yes"), thing(tc.object))...)
			if err != nil || summary.Interrupted != tc.cut || (summary.Failures() > 0) != tc.cut {
				t.Errorf("%s: %+v, %v", tc.object, summary, err)
			}
		})
	}
}

// An object with the mark of the set that the record lacks is recorded again, also if the run
// does not write it.
func TestMarkedObjectIsRecordedAgain(t *testing.T) {
	p := policy()
	p.CreateOnly = []plan.Annotation{{Key: "frozen", Value: "yes"}}
	for _, tc := range []struct {
		name, owner string
		want        []string
	}{
		{"ours", "me", []string{
			"configmap/a Apply Skipped Skipped", "configmap/b Apply Succeeded Succeeded",
		}},
		{"of nobody", "", []string{"configmap/b Apply Succeeded Succeeded"}},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			live := given("a", "old", "frozen=yes")
			if tc.owner != "" {
				live = given("a", "old", "frozen=yes", "owner="+tc.owner)
			}
			w.Put(live)
			desired := want(given("a", "new", "frozen=yes"), given("b", "new"))
			if _, err := w.apply(t.Context(), p, realRun, desired...); err != nil {
				t.Fatal(err)
			}
			w.expectRecord(t, tc.want...)
		})
	}
}

// When the time of a run is over, what is waited for has timed out, and the rest is not begun.
func TestOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, engine.ErrOutOfTime)
		defer cancel()
		summary, err := w.apply(ctx, patient(policy()), realRun,
			want(thing("Deployment/a"), thing("ConfigMap/b", "after=Deployment/a"))...)
		if err != nil {
			t.Fatal(err)
		}
		if summary.Settled[event.TimedOut] != 1 || summary.Settled[event.Interrupted] != 1 {
			t.Errorf("%+v: %q", summary, w.lines)
		}
	})
}

// When the time of a run is over, a step that is paused says what it waits for.
func TestOutOfTimeWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		objects := want(thing("ConfigMap/held"))
		if _, err := w.apply(t.Context(), recreating(), realRun, objects...); err != nil {
			t.Fatal(err)
		}
		w.leave(t, "ConfigMap/held", 0)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, engine.ErrOutOfTime)
		defer cancel()
		var failure error
		w.hear = func(e event.Event) {
			if e.Kind == event.Settled {
				failure = e.Err
			}
		}
		summary, err := w.apply(ctx, recreating(), realRun, objects...)
		if err != nil || summary.Settled[event.TimedOut] != 1 || failure == nil ||
			!strings.Contains(failure.Error(), heldBy) {
			t.Errorf("%v, %+v: error %v", err, summary, failure)
		}
	})
}

// The record says of an object that a run did not wait for that nobody knows whether it is ready.
// Objects without a state are ready, and unchanged ones are as ready as they were.
func TestObjectsThatNothingWaitsForAreNotRecordedAsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		waits := func(awaits bool, names ...string) {
			t.Helper()
			p := policy()
			p.Waiting = func(*unstructured.Unstructured) (plan.Waiting, error) {
				return plan.Waiting{Skip: !awaits}, nil
			}
			var objs []*unstructured.Unstructured
			for _, name := range names {
				objs = append(objs, thing(name))
			}
			if _, err := w.apply(t.Context(), p, realRun, want(objs...)...); err != nil {
				t.Fatal(err)
			}
		}
		const skipped = "deployment.apps/web Apply Succeeded Skipped"
		waits(false, "ConfigMap/a", "Deployment/web")
		w.expectRecord(t, "configmap/a Apply Succeeded Succeeded", skipped)
		waits(false, "ConfigMap/a", "Deployment/web")
		w.expectRecord(t, "configmap/a Apply Succeeded Succeeded", skipped)
		w.becomeReady("Deployment/web", available)
		waits(true, "ConfigMap/a", "Deployment/web")
		waits(false, "ConfigMap/a", "Deployment/web")
		w.expectRecord(t, "configmap/a Apply Succeeded Succeeded",
			"deployment.apps/web Apply Succeeded Succeeded")
	})
}

// Before a run writes, the record says that earlier results of what it writes do not hold any more.
func TestRecordedResultsArePendingDuringARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		first := want(thing("ConfigMap/a"), thing("ConfigMap/b"), thing("ConfigMap/c"))
		if _, err := w.apply(t.Context(), policy(), realRun, first...); err != nil {
			t.Fatal(err)
		}
		changed := thing("ConfigMap/a")
		changed.Object["data"] = map[string]any{"k": "v"}
		w.hear = func(event.Event) {
			w.hear = nil
			w.expectRecord(t, "configmap/a Apply Pending Pending", "configmap/b Apply Succeeded Succeeded",
				"configmap/c Delete Pending Pending", "configmap/d   ")
		}
		second := want(changed, thing("ConfigMap/b"), thing("ConfigMap/d"))
		if _, err := w.apply(t.Context(), policy(), realRun, second...); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(t, "configmap/a Apply Succeeded Succeeded",
			"configmap/b Apply Succeeded Succeeded", "configmap/d Apply Succeeded Succeeded")
	})
}
