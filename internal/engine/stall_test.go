package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A run ends that waits without progress. A status that alternates is no progress, a new one is.
func TestStall(t *testing.T) {
	updated := func(pods int64) map[string]any { // of one pod that is wanted
		return map[string]any{"replicas": pods, "updatedReplicas": int64(1)}
	}
	for _, tc := range []struct {
		name   string
		script []enginetest.Change
		own    time.Duration // limit of the step itself
		took   time.Duration
		want   string
	}{
		{name: "nothing happens", took: 10 * time.Second, want: "timed out"},
		{
			name: "progress", took: 24 * time.Second, want: "succeeded",
			script: []enginetest.Change{
				{After: 8 * time.Second, Status: updated(1)}, {After: 16 * time.Second, Status: updated(2)},
				{After: 24 * time.Second, Status: available},
			},
		},
		{
			name: "the same statuses in turn", took: 18 * time.Second, want: "timed out",
			script: []enginetest.Change{
				{After: 4 * time.Second, Status: updated(1)}, {After: 8 * time.Second, Status: updated(2)},
				{After: 12 * time.Second, Status: updated(1)}, {After: 16 * time.Second, Status: updated(2)},
				{After: 20 * time.Second, Status: updated(1)}, {After: 24 * time.Second, Status: available},
			},
		},
		{name: "a limit of its own", own: time.Minute, took: time.Minute, want: "timed out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{
					Script: map[object.Ref][]enginetest.Change{ref("Deployment/a"): tc.script},
				})
				rules := policy()
				rules.Waiting = func(*unstructured.Unstructured) (plan.Waiting, error) {
					return plan.Waiting{Timeouts: plan.Timeouts{Timeout: tc.own}}, nil
				}
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					w.Put(w.child("ReplicaSet/a", "Pod/p", starts))
				})
				began := time.Now()
				o := engine.Options{DryRun: engine.DryRunNone,
					Limits: engine.Limits{Stall: limit.After(10 * time.Second)}}
				if _, err := w.apply(t.Context(), rules, o,
					want(thing("Deployment/a"))...); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began).Round(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				settled := "settled create deployment.apps/a " + tc.want
				if !slices.ContainsFunc(w.lines, func(line string) bool {
					return strings.HasPrefix(line, settled)
				}) {
					t.Errorf("no line %q in %q", settled, w.lines)
				}
				if tc.want == "succeeded" {
					return
				}
				w.explained()
				if diff := cmp.Diff([]string{
					"explained create deployment.apps/a: being started by node n"}, w.lines); diff != "" {
					t.Errorf("causes at the end (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A run ends in which an object that is to be recreated never goes, although nothing else is waited
// for. Progress of others lets it wait for longer.
func TestStallOfRecreation(t *testing.T) {
	for _, progress := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Lingers: map[object.Ref]time.Duration{ref("ConfigMap/a"): time.Hour},
				Script: map[object.Ref][]enginetest.Change{ref("Deployment/d"): {
					{After: 8 * time.Second, Status: available},
				}},
			})
			recreated := update(w.put(thing("ConfigMap/a")), "new")
			recreated.Replace = plan.ReplaceAlways
			steps, took := []plan.Step{recreated}, 10*time.Second
			if progress {
				steps = append(steps, create("Deployment/d"))
				took = 18 * time.Second
			}
			began := time.Now()
			o := engine.Options{DryRun: engine.DryRunNone,
				Limits: engine.Limits{Stall: limit.After(10 * time.Second)}}
			w.run(t.Context(), t, o, steps...)
			if got := time.Since(began).Round(time.Second); got != took {
				t.Errorf("progress %v: took %s, want %s: %q", progress, got, took, w.lines)
			}
		})
	}
}

// The limit of an object itself bounds its recreation, whatever those of the run are.
func TestOwnLimitOfRecreation(t *testing.T) {
	for name, limits := range map[string]engine.Limits{
		"none": {}, "deletions": {Delete: limit.After(time.Second)},
		"stall": {Stall: limit.After(time.Second)},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Lingers: map[object.Ref]time.Duration{ref("ConfigMap/a"): time.Hour},
			})
			recreated := update(w.put(thing("ConfigMap/a")), "new")
			recreated.Replace, recreated.Timeout = plan.ReplaceAlways, 10*time.Second
			began := time.Now()
			o := engine.Options{DryRun: engine.DryRunNone, Limits: limits}
			summary := w.run(t.Context(), t, o, recreated)
			got := time.Since(began).Round(time.Second)
			if got != 10*time.Second || summary.Failures() != 1 {
				t.Errorf("%s: took %s with %d failures: %q", name, got, summary.Failures(), w.lines)
			}
		})
	}
}

// The limit of what is applied bounds a recreation, too, if no other does.
func TestApplyLimitOfRecreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{
			Lingers: map[object.Ref]time.Duration{ref("ConfigMap/a"): time.Hour},
		})
		recreated := update(w.put(thing("ConfigMap/a")), "new")
		recreated.Replace = plan.ReplaceAlways
		began := time.Now()
		o := within(10 * time.Second)
		summary := w.run(t.Context(), t, o, recreated)
		if got := time.Since(began).Round(time.Second); got != 10*time.Second || summary.Failures() != 1 {
			t.Errorf("took %s with %d failures: %q", got, summary.Failures(), w.lines)
		}
	})
}

// Causes that return, and causes in which only numbers, times and names differ, are no progress,
// nor is a new cause after many others. Each other cause is.
func TestStallWithChangingCauses(t *testing.T) {
	for name, tc := range map[string]struct {
		message func(n int) string
		took    time.Duration
	}{
		"numbers": {func(n int) string { return fmt.Sprintf("attempt %d, port %d", n, 3*n) }, 14},
		"in turn": {func(n int) string { return []string{"no route", "no answer", "no name"}[n%3] }, 18},
		"names": {func(n int) string {
			return "no pod web-" + strings.Repeat(string("bcdfgh"[n%6]), 5)
		}, 14},
		"times": {func(n int) string { return fmt.Sprintf("at 2026-11-29T12:00:%02dZ", n) }, 14},
		"new":   {func(n int) string { return "no " + strings.Repeat("a", n) }, 46},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				stop := make(chan struct{})
				go func() {
					time.Sleep(100 * time.Millisecond)
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					for n := 1; ; n++ {
						w.Put(w.child("ReplicaSet/a", "Pod/p", container(map[string]any{
							"waiting": map[string]any{"reason": "ErrImagePull", "message": tc.message(n)}})))
						select {
						case <-time.After(4 * time.Second):
						case <-stop:
							return
						}
					}
				}()
				o := engine.Options{DryRun: engine.DryRunNone,
					Limits: engine.Limits{Stall: limit.After(10 * time.Second), Apply: limit.After(time.Hour)}}
				began := time.Now()
				_, err := w.apply(t.Context(), policy(), o, want(thing("Deployment/a"))...)
				close(stop)
				took := time.Since(began).Round(time.Second)
				if err != nil || took < (tc.took-3)*time.Second || took > (tc.took+3)*time.Second {
					t.Errorf("took %s, want about %ds, %v\n%s", took, tc.took, err, strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}
