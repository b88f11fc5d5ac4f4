package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

func TestAppear(t *testing.T) {
	for _, tc := range []struct {
		name  string
		there bool
		after time.Duration // when it is created; 0 for never
		wait  bool
		polls bool
		want  string
		took  time.Duration
	}{
		{name: "that exists", there: true, wait: true, want: `
			acted await-created deployment.apps/theirs succeeded
			waiting await-created deployment.apps/theirs (InProgress)
			settled await-created deployment.apps/theirs succeeded (Current)`, took: 2 * time.Second},
		{name: "later", after: time.Minute, wait: true, took: time.Minute + 2*time.Second, want: `
			retried await-created deployment.apps/theirs: External resource doesn't exists
			acted await-created deployment.apps/theirs succeeded
			waiting await-created deployment.apps/theirs (InProgress)
			settled await-created deployment.apps/theirs succeeded (Current)`},
		{name: "later, by reading again and again", after: time.Minute + time.Second, wait: true, polls: true, took: time.Minute + 4*time.Second, want: `
			retried await-created deployment.apps/theirs: External resource doesn't exists
			acted await-created deployment.apps/theirs succeeded
			waiting await-created deployment.apps/theirs (InProgress)
			settled await-created deployment.apps/theirs succeeded (Current)`},
		{name: "and in whatever state", after: time.Minute, took: time.Minute, want: `
			retried await-created deployment.apps/theirs: External resource doesn't exists
			acted await-created deployment.apps/theirs succeeded
			settled await-created deployment.apps/theirs succeeded (InProgress)`},
		{name: "never", took: 5 * time.Minute, want: `
			retried await-created deployment.apps/theirs: External resource doesn't exists
			acted await-created deployment.apps/theirs failed: timed out after 5m0s: External resource doesn't exists
			settled await-created deployment.apps/theirs failed: timed out after 5m0s: External resource doesn't exists`},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Polls: tc.polls})
			began := time.Now()
			if tc.there {
				w.Put(thing("Deployment/theirs"))
			}
			if tc.after > 0 {
				time.AfterFunc(tc.after, func() { w.Put(thing("Deployment/theirs")) })
			}
			time.AfterFunc(tc.after+2*time.Second, func() {
				if obj := w.Object(ref("Deployment/theirs")); obj != nil {
					obj.Object["status"] = phase("ready")
					w.Put(obj)
				}
			})
			o := w.judging()
			o.Retry.For = limit.After(5 * time.Minute)
			var last error
			w.hear = func(e event.Event) { last = e.Err }
			w.run(
				t.Context(),
				t,
				o,
				plan.Step{Ref: ref("Deployment/theirs"), Op: plan.AwaitCreated, Wait: tc.wait},
			)
			w.expect(t, tc.want)
			if took := time.Since(began); took.Truncate(2*time.Second) != tc.took.Truncate(2*time.Second) {
				t.Errorf("it took %s, want %s", took, tc.took)
			}
			if absent := (*engine.AbsentError)(nil); errors.As(
				last,
				&absent,
			) != strings.Contains(
				tc.want,
				"failed",
			) {
				t.Errorf("the error is %#v", last)
			}
			if len(w.Sent) > 0 || len(w.Watched) > 1 || len(w.Asked) > 1 {
				t.Errorf("written %v, watched %v, read %v", w.Sent, w.Watched, w.Asked)
			}
		})
	}
}

// How long others may take to create an object: its own time, or that of all that is applied.
func TestAppearInTime(t *testing.T) {
	for _, tc := range []struct {
		own, want time.Duration
		all, idle limit.Time
	}{
		{want: 30 * time.Second},
		{all: limit.After(time.Minute), want: time.Minute},
		{own: 5 * time.Second, all: limit.After(time.Minute), want: 5 * time.Second},
		{own: time.Minute, idle: limit.After(time.Hour), want: 30 * time.Second}, // kapp's limits
	} {
		each(t, tc.want.String(), func(t *testing.T) {
			w, began := newWorld(&enginetest.Cluster{}), time.Now()
			o := w.judging()
			o.Retry.For, o.Limits.Apply, o.Limits.Idle = limit.After(30*time.Second), tc.all, tc.idle
			w.run(t.Context(), t, o, plan.Step{Ref: ref("ConfigMap/theirs"), Op: plan.AwaitCreated,
				Wait: true, Timeouts: plan.Timeouts{Timeout: tc.own}})
			if took := time.Since(began).Round(time.Second); took != tc.want {
				t.Errorf("it took %s, want %s: %q", took, tc.want, w.lines)
			}
		})
	}
}

// What is awaited may also be created by the same run, and is judged by package ready where the
// dialect judges nothing.
func TestAppearWithoutDialect(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{}})
		time.AfterFunc(time.Second, func() { w.Put(thing("ConfigMap/theirs")) })
		w.run(
			t.Context(),
			t,
			realRun,
			plan.Step{Ref: ref("ConfigMap/theirs"), Op: plan.AwaitCreated, Wait: true},
			create("ConfigMap/a", 0),
		)
		w.expect(t, `
			retried await-created configmap/theirs: External resource doesn't exists
			acted await-created configmap/theirs succeeded
			settled await-created configmap/theirs succeeded (Current)
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)`)
	})
}

// Nothing is sent for what somebody else deletes, or has begun to delete.
func TestVanish(t *testing.T) {
	for _, op := range []plan.Op{plan.AwaitDeleted, plan.Delete} {
		each(t, string(op), func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			held := thing("ConfigMap/a")
			held.SetFinalizers([]string{"hold"})
			held.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			have := w.put(held)
			time.AfterFunc(time.Second, func() {
				less := have.DeepCopy()
				less.SetFinalizers([]string{"more"})
				w.Put(less)
			})
			time.AfterFunc(2*time.Second, func() { w.Remove(ref("ConfigMap/a")) })
			w.run(
				t.Context(),
				t,
				w.judging(),
				plan.Step{Ref: ref("ConfigMap/a"), Op: op, Have: have, Wait: true},
			)
			w.expect(t, strings.ReplaceAll(`
				acted OP configmap/a succeeded
				waiting OP configmap/a (InProgress)
				observed OP configmap/a (InProgress)
				settled OP configmap/a succeeded (NotFound)`, "OP", string(op)))
			expectWritten(t, w)
		})
	}
	each(t, "gone before", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		w.run(
			t.Context(),
			t,
			w.judging(),
			plan.Step{Ref: ref("ConfigMap/a"), Op: plan.AwaitDeleted, Wait: true},
		)
		w.expect(t, `
			acted await-deleted configmap/a succeeded
			settled await-deleted configmap/a succeeded (NotFound)`)
	})
}

// A deletion is waited for until the object is gone: its acceptance is one status, those of the
// rules follow.
func TestDeletionIsWaitedFor(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		held := thing("Deployment/held")
		held.SetFinalizers([]string{"hold"})
		have := w.put(held)
		time.AfterFunc(time.Second, func() { w.Remove(ref("Deployment/held")) })
		w.run(
			t.Context(),
			t,
			w.judging(),
			plan.Step{
				Ref:  ref("Deployment/a"),
				Op:   plan.Delete,
				Have: w.put(thing("Deployment/a")),
				Wait: true,
			},
			plan.Step{Ref: ref("Deployment/held"), Op: plan.Delete, Have: have, Wait: true, Needs: []int{0}},
		)
		// The watch, which runs already, may report the deletion before the answer to it: then there is
		// one status less.
		const second = "observed delete deployment.apps/held (InProgress)"
		w.lines = slices.DeleteFunc(w.lines, func(text string) bool { return text == second })
		w.expect(t, `
			acted delete deployment.apps/a succeeded
			settled delete deployment.apps/a succeeded (NotFound)
			acted delete deployment.apps/held succeeded
			waiting delete deployment.apps/held (Terminating)
			settled delete deployment.apps/held succeeded (NotFound)`)
	})
}

// The time of the run starts again whenever something happens, and is up for all at once.
func TestIdle(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/a"): {phaseAfter(40, "ready")}, ref("Deployment/b"): {phaseAfter(80, "ready")},
		}})
		o := w.judging()
		o.Limits.Idle, o.Retry.For = limit.After(time.Minute), limit.None()
		began := time.Now()
		theirs := plan.Step{Ref: ref("ConfigMap/theirs"), Op: plan.AwaitCreated, Wait: true}
		w.run(
			t.Context(),
			t,
			o,
			create("Deployment/a"),
			create("Deployment/b"),
			create("Deployment/c"),
			create("Deployment/d"),
			theirs,
			create("ConfigMap/z", 3),
		)
		if took := time.Since(began); took != 140*time.Second {
			t.Errorf("it took %s", took)
		}
		w.lines = w.lines[len(w.lines)-8:]
		w.expect(t, `
			settled create deployment.apps/a succeeded (Current)
			settled create deployment.apps/b succeeded (Current)
			settled create deployment.apps/c timed out (InProgress)
			settled create deployment.apps/d timed out (InProgress)
			acted await-created configmap/theirs skipped
			acted create configmap/z skipped
			settled await-created configmap/theirs skipped: External resource doesn't exists
			settled create configmap/z skipped (NotFound)`)
	})
}

// A run is not idle while it writes: the shortest time is up only after all writes that may start.
func TestIdleAtOnce(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{
			Slow: map[object.Ref]time.Duration{ref("ConfigMap/slow"): 5 * time.Second},
		})
		o := w.judging()
		o.Limits.Idle, o.Concurrency = limit.After(0), 1
		w.run(t.Context(), t, o, create("Deployment/a"), create("ConfigMap/slow"),
			create("ConfigMap/last"), create("ConfigMap/next", 0))
		w.lines = w.lines[len(w.lines)-7:]
		w.expect(t, `
			acted create configmap/slow succeeded
			settled create configmap/slow succeeded (Current)
			acted create configmap/last succeeded
			settled create configmap/last succeeded (Current)
			settled create deployment.apps/a timed out (InProgress)
			acted create configmap/next skipped
			settled create configmap/next skipped`)
	})
}

// By kind of failure, the first ends the run: what is being written is finished, and nothing else
// starts or is waited for.
func TestEndOnFailure(t *testing.T) {
	for _, tc := range []struct {
		name            string
		onWrite, onWait bool
		want            string
	}{
		{name: "a failing write", onWrite: true, want: `
			acted create configmap/bad failed: ` + forbidden.Error() + `
			settled create configmap/bad failed: ` + forbidden.Error() + `
			acted create configmap/next skipped
			settled create deployment.apps/ill skipped (InProgress)
			settled create configmap/next skipped
			acted create configmap/slow succeeded
			settled create configmap/slow succeeded (Current)`},
		{name: "a failing wait", onWait: true, want: `
			acted create configmap/bad failed: ` + forbidden.Error() + `
			settled create configmap/bad failed: ` + forbidden.Error() + `
			acted create configmap/slow succeeded
			settled create configmap/slow succeeded (Current)
			settled create deployment.apps/ill failed (Failed)
			acted create configmap/next skipped
			settled create configmap/next skipped`},
		{name: "neither", want: `
			acted create configmap/bad failed: ` + forbidden.Error() + `
			settled create configmap/bad failed: ` + forbidden.Error() + `
			acted create configmap/slow succeeded
			settled create configmap/slow succeeded (Current)
			settled create deployment.apps/ill failed (Failed)
			acted create configmap/next skipped
			settled create configmap/next skipped`},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Slow: map[object.Ref]time.Duration{
					ref("ConfigMap/bad"):  time.Second,
					ref("ConfigMap/slow"): 2 * time.Second,
				},
				Fails:  map[object.Ref]error{ref("ConfigMap/bad"): forbidden},
				Script: map[object.Ref][]enginetest.Change{ref("Deployment/ill"): {phaseAfter(5, "failed")}},
			})
			early := 0
			w.hear = func(e event.Event) {
				if e.RunEnded {
					early++
				}
			}
			o := w.judging()
			o.StopOn.WriteError, o.StopOn.WaitError = tc.onWrite, tc.onWait
			w.run(
				t.Context(),
				t,
				o,
				create("Deployment/ill"),
				create("ConfigMap/bad"),
				create("ConfigMap/slow"),
				create("ConfigMap/next", 0),
			)
			w.lines = w.lines[2:] // the Deployment is written and waited for
			w.expect(t, tc.want)
			if ended := tc.onWrite || tc.onWait; (early == 1) != ended {
				t.Errorf("%d steps were skipped because the run ended", early)
			}
		})
	}
}

// busy is a run in which everything happens that a dialect can want, and what it leaves.
func busy(ctx context.Context, t *testing.T, w *world) event.Summary {
	t.Helper()
	o := w.withPods(map[string]string{"app": "x"})
	o.Concurrency = 2
	o.Retry.For, o.Limits.Idle = limit.After(time.Hour), limit.After(time.Hour)
	o.StopOn.WriteError, o.StopOn.WaitError = true, true
	w.decider = decisions{rework, amend}
	replaced := plan.Step{
		Ref:  ref("ConfigMap/replaced"),
		Op:   plan.Create,
		Want: thing("ConfigMap/replaced"),
		Wait: true,
	}
	if have := w.Object(ref("ConfigMap/replaced")); have != nil {
		replaced = update(have, "amended")
		replaced.Want.SetFinalizers(nil)
		replaced.Replace = plan.ReplaceAlways
	}
	return w.run(
		ctx,
		t,
		o,
		replaced,
		create("ConfigMap/again"),
		create("ConfigMap/there"),
		create("Deployment/web", 0),
		plan.Step{
			Ref:  ref("ConfigMap/theirs"),
			Op:   plan.AwaitCreated,
			Have: w.Object(ref("ConfigMap/theirs")),
			Wait: true,
		},
		plan.Step{
			Ref:  ref("ConfigMap/leaving"),
			Op:   plan.AwaitDeleted,
			Have: w.Object(ref("ConfigMap/leaving")),
			Wait: true,
		},
		create("ConfigMap/last", 3, 4, 5),
	)
}

// TestEveryEnd ends such a run after each event in turn, by an interrupt or by having every write
// fail: each step settles once, and the same run afterwards goes well.
func TestEveryEnd(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		eachMoment(t, 20, func(t *testing.T, moment int) bool {
			w := newWorld(&enginetest.Cluster{
				Takes:   10 * time.Millisecond,
				Answers: map[object.Ref][]error{ref("ConfigMap/again"): {hiccup, hiccup}},
				Lingers: map[object.Ref]time.Duration{ref("ConfigMap/replaced"): 3 * time.Second},
				Script: map[object.Ref][]enginetest.Change{
					ref("Deployment/web"): {
						{After: time.Second, Makes: pod("web", "p", "running")},
						phaseAfter(2, "release"),
						phaseAfter(9, "ready"),
					},
				},
			})
			held := thing("ConfigMap/replaced")
			held.SetFinalizers([]string{"hold"})
			w.Put(held)
			w.Put(thing("ConfigMap/there"))
			w.Put(thing("ConfigMap/leaving"))
			time.AfterFunc(4*time.Second, func() { w.Put(thing("ConfigMap/theirs")) })
			time.AfterFunc(5*time.Second, func() { w.Remove(ref("ConfigMap/leaving")) })

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			came, settled := false, map[int]int{}
			w.hear = func(e event.Event) {
				if e.Kind == event.Settled {
					settled[e.Step]++
				}
				if came = came || len(w.lines) == moment; len(w.lines) != moment {
					return
				}
				if refuse {
					w.Refuse(forbidden)
				} else {
					cancel()
				}
			}
			summary := busy(ctx, t, w)
			if !refuse && summary.Settled[event.Failed]+summary.Settled[event.TimedOut] > 0 {
				t.Errorf("an interrupt made steps fail: %q", w.lines)
			}
			for i := range 7 {
				if settled[i] != 1 {
					t.Errorf("step %d settled %d times: %q", i, settled[i], w.lines)
				}
			}
			time.Sleep(10 * time.Second) // others do their part whatever becomes of the run
			w.hear = nil
			w.Refuse(nil)
			if summary := busy(t.Context(), t, w); summary.Failures() > 0 ||
				w.is("ConfigMap/last") != "amended" ||
				w.is("ConfigMap/replaced") != "amended" {
				t.Errorf("running again: %+v, %q", summary, w.lines)
			}
			return came
		})
	}
}
