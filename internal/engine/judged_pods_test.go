package engine_test

import (
	"fmt"
	"slices"
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
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// podsRun is the options of a run that judges workloads by their pods.
var podsRun = engine.Options{DryRun: engine.DryRunNone, Pods: engine.CheckPods()}

// alone returns a ready pod without a controller whose container was restarted some time ago.
func alone(ago time.Duration) *unstructured.Unstructured {
	w := newWorld(&enginetest.Cluster{})
	w.Put(thing("StatefulSet/a"))
	pod := w.restarted("StatefulSet/a", ago)
	pod.SetOwnerReferences(nil)
	pod.Object["spec"].(map[string]any)["containers"] = []any{map[string]any{"name": "web"}}
	return pod
}

// A pod shows by itself that a container of it was restarted.
func TestPodsAreJudgedByThemselves(t *testing.T) {
	for name, run := range map[string]func(*testing.T, *world, *unstructured.Unstructured){
		"status": func(t *testing.T, w *world, _ *unstructured.Unstructured) {
			e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
			o := engine.ObserveOptions{Until: engine.UntilCurrent, Pods: engine.CheckPods()}
			met, err := e.Observe(t.Context(), []object.Ref{ref("Pod/a-0")}, o, func(event.Event) {})
			if err != nil || !met {
				t.Errorf("met %t, error %v", met, err)
			}
		},
		"apply": func(t *testing.T, w *world, manifest *unstructured.Unstructured) {
			summary, err := w.apply(t.Context(), policy(), podsRun, want(manifest)...)
			if err != nil || summary.Failures() > 0 {
				t.Errorf("%+v, error %v", summary, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				manifest := thing("Pod/a-0")
				manifest.Object["spec"] = alone(0).Object["spec"]
				o := engine.Options{DryRun: engine.DryRunNone, Limits: engine.Limits{Apply: limit.After(1)}}
				if _, err := w.apply(t.Context(), policy(), o, want(manifest)...); err != nil {
					t.Fatal(err)
				}
				live := w.Object(ref("Pod/a-0"))
				live.Object["status"] = alone(3 * time.Second).Object["status"]
				w.Put(live)
				began := time.Now()
				run(t, w, manifest)
				if took := time.Since(began); took < 6*time.Second || took > 8*time.Second {
					t.Errorf("ready after %s", took)
				}
			})
		})
	}
}

// An object on trial that a read without a version does not find has no trial meanwhile, although
// its pods change.
func TestObjectOnTrialIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Polls: true})
		obj := thing("StatefulSet/a")
		obj.Object["spec"] = replayed(false, 1).Object["spec"]
		time.AfterFunc(time.Second, func() {
			w.becomeReady("StatefulSet/a", nil)
			w.Put(w.restarted("StatefulSet/a", 0))
		})
		time.AfterFunc(3*time.Second, func() { w.Remove(ref("StatefulSet/a")) })
		time.AfterFunc(5*time.Second, func() {
			pod := w.Object(ref("Pod/a-0"))
			pod.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			w.Put(pod)
		})
		if _, err := w.apply(t.Context(), policy(), podsRun, want(obj)...); err != nil {
			t.Fatal(err)
		}
		const last = "settled create statefulset.apps/a failed: it was deleted while it was waited for"
		if got := w.lines[len(w.lines)-1]; got != last {
			t.Errorf("last event = %q, want %q", got, last)
		}
	})
}

// Only the pods that a workload controls are its own.
func TestPodsOfOthersAreNotJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		obj := thing("StatefulSet/a")
		obj.Object["spec"] = replayed(false, 1).Object["spec"]
		time.AfterFunc(time.Second, func() {
			w.becomeReady("StatefulSet/a", nil)
			mine := w.restarted("StatefulSet/a", time.Minute)
			mine.SetCreationTimestamp(metav1.Now())
			helper := w.child("StatefulSet/a", "Pod/backup", map[string]any{"phase": "Pending"})
			helper.SetLabels(mine.GetLabels())
			owners := helper.GetOwnerReferences()
			owners[0].Controller = nil
			helper.SetOwnerReferences(owners)
			w.Put(mine)
			w.Put(helper)
		})
		began := time.Now()
		o := podsRun
		o.Limits.Apply = limit.After(time.Minute)
		summary, err := w.apply(t.Context(), policy(), o, want(obj)...)
		if err != nil || summary.Failures() > 0 || time.Since(began) > 5*time.Second {
			t.Errorf("%d failures, error %v after %s", summary.Failures(), err, time.Since(began))
		}
	})
}

// Another clock of this machine hides no crash, and invents none.
func TestClockOfUnchangedWorkloads(t *testing.T) {
	for _, by := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		for restarted, took := range map[time.Duration]time.Duration{
			3 * time.Second: 6500 * time.Millisecond, 5 * time.Minute: 0,
		} {
			t.Run(fmt.Sprintf("%s, restarted %s ago", by, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(&enginetest.Cluster{Ahead: by})
					obj := thing("StatefulSet/a")
					obj.Object["spec"] = replayed(false, 1).Object["spec"]
					time.AfterFunc(time.Second, func() { w.becomeReady("StatefulSet/a", nil) })
					if _, err := w.apply(t.Context(), policy(), podsRun, want(obj)...); err != nil {
						t.Fatal(err)
					}
					w.Put(w.restarted("StatefulSet/a", restarted-by))
					began := time.Now()
					o := podsRun
					o.Limits.Apply = limit.After(time.Hour)
					summary, err := w.apply(t.Context(), policy(), o, want(obj)...)
					if err != nil || summary.Failures() > 0 {
						t.Fatalf("%d failures, error %v", summary.Failures(), err)
					}
					if got := time.Since(began).Round(500 * time.Millisecond); got != took {
						t.Errorf("ready after %s, want %s", got, took)
					}
				})
			})
		}
	}
}

// A pod that crashed before another object became ready may run when it is started again.
func TestCrashedPodIsStartedAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		crashes []int // seconds at which its container ends
		starts  int   // second of its last start
		want    string
		took    time.Duration
	}{
		{"and runs", []int{2, 3}, 15, "succeeded", 25 * time.Second},
		{"and crashes", []int{2, 3, 16}, 0, "failed", 16 * time.Second},
		{"and has crashed again already", []int{2, 3, 7, 12}, 0, "failed", 12 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Ahead: -time.Hour})
				w.Script = map[object.Ref][]enginetest.Change{
					ref("Deployment/db"): {{After: 10 * time.Second, Status: available}},
				}
				pod := thing("Pod/a-0")
				pod.Object["spec"] = alone(0).Object["spec"]
				put := func(status map[string]any) {
					live := w.Object(ref("Pod/a-0"))
					live.Object["status"] = status
					w.Put(live)
				}
				for i, second := range tc.crashes {
					time.AfterFunc(time.Duration(second)*time.Second, func() {
						at := time.Now().Add(w.Ahead).UTC().Format(time.RFC3339)
						put(map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
							"name": "web", "restartCount": int64(i), "state": map[string]any{
								"terminated": map[string]any{
									"exitCode": int64(1), "startedAt": at, "finishedAt": at}}}}})
					})
				}
				if tc.starts > 0 {
					time.AfterFunc(time.Duration(tc.starts)*time.Second, func() {
						put(alone(-w.Ahead).Object["status"].(map[string]any))
					})
				}
				began := time.Now()
				o := podsRun
				o.Limits.Apply = limit.After(time.Minute)
				_, err := w.apply(t.Context(), policy(), o, want(pod, thing("Deployment/db"))...)
				if err != nil {
					t.Fatal(err)
				}
				line := "settled create pod/a-0 " + tc.want
				if !slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
					t.Errorf("no line %q in %q", line, w.lines)
				}
				if took := time.Since(began).Round(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}
