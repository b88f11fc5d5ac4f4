package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

const setA, setB = "StatefulSet/a", "StatefulSet/b"

// down is the status of a workload of which no pod is ready.
var down = map[string]any{"readyReplicas": int64(0), "availableReplicas": int64(0)}

// probed returns a workload of one pod with a readiness probe.
func probed(name string) *unstructured.Unstructured {
	obj := thing(name)
	obj.Object["spec"] = replayed(true, 1).Object["spec"]
	return obj
}

// moment is a change of a workload at a time of the run.
type moment struct {
	at   time.Duration
	name string
	up   bool
}

// play makes workloads ready, or not, at times from now on.
func (w *world) play(moments ...moment) {
	for _, m := range moments {
		time.AfterFunc(m.at, func() {
			if m.up {
				w.becomeReady(m.name, nil)
			} else {
				w.becomeReady(m.name, down)
			}
		})
	}
}

// applying returns the options of a run that judges by pods, with a time for each object.
func applying(d time.Duration) engine.Options {
	o := podsRun
	o.Limits.Apply = limit.After(d)
	return o
}

// A workload that is waited for again has the time of one that was just written, once: however
// often workloads relapse, the run ends.
func TestSecondWaitsEnd(t *testing.T) {
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for name, c := range map[string]struct {
		moments []moment
		want    time.Duration
		fails   string
	}{
		"the first one in the plan": {
			[]moment{{second(1), setA, true}, {second(2), setA, false}, {second(50), setB, true}},
			second(110), setA},
		"the last one in the plan": {
			[]moment{{second(1), setB, true}, {second(2), setB, false}, {second(50), setA, true}},
			second(110), setB},
		"twice": {
			[]moment{{second(1), setA, true}, {second(5), setA, false}, {second(10), setB, true},
				{second(12), setB, false}, {second(14), setA, true}, {second(16), setA, false},
				{second(73), setB, true}},
			second(73), setA},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(&enginetest.Cluster{}), time.Now()
				w.play(c.moments...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				summary, err := w.apply(ctx, policy(), applying(time.Minute),
					want(probed(setA), probed(setB))...)
				took := time.Since(began).Truncate(time.Second)
				if err != nil || summary.Settled[event.TimedOut] != 1 || took != c.want {
					t.Errorf("%+v after %s, want %s; %v", summary.Settled, took, c.want, err)
				}
				last := "settled create " + ref(c.fails).Short() + " timed out"
				if !strings.Contains(strings.Join(w.lines, "\n"), last) {
					t.Errorf("no %q in\n%s", last, strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}

// Workloads that are never ready at the same time make no progress.
func TestWorkloadsThatRelapseInTurn(t *testing.T) {
	for name, o := range map[string]engine.Options{
		"stall": podsRun, "limit": applying(5 * time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(&enginetest.Cluster{}), time.Now()
				const turns = 120
				for n := range turns {
					one, other := setA, setB
					if n%2 == 1 {
						one, other = setB, setA
					}
					at := time.Duration(n+1) * time.Minute
					w.play(moment{at, other, false}, moment{at + time.Second, one, true})
				}
				ctx, cancel := context.WithTimeout(t.Context(), (turns+1)*time.Minute)
				defer cancel()
				summary, err := w.apply(ctx, policy(), o, want(probed(setA), probed(setB))...)
				if took := time.Since(began); err != nil || summary.Settled[event.TimedOut] == 0 ||
					took > time.Hour {
					t.Errorf("%+v after %s, %v", summary.Settled, took, err)
				}
			})
		})
	}
}

// podOf creates the pod of a workload, or changes it. It was started an hour ago.
func (w *world) podOf(name string, isReady bool) {
	owner := w.Object(ref(name))
	pod := w.runningPod(name, time.Now().Add(-time.Hour), 0)
	pod.SetName(owner.GetName() + "-0")
	pod.SetUID(types.UID(pod.GetName()))
	references := pod.GetOwnerReferences()
	references[0].Name, references[0].UID = owner.GetName(), owner.GetUID()
	pod.SetOwnerReferences(references)
	if !isReady {
		status := pod.Object["status"].(map[string]any)
		status["conditions"] = []any{map[string]any{"type": "Ready", "status": "False"}}
		status["containerStatuses"].([]any)[0].(map[string]any)["ready"] = false
	}
	w.Put(pod)
}

// An unchanged workload relapses by its pods, too, and is not taken for ready by its status then.
func TestUnchangedWorkloadsRelapse(t *testing.T) {
	for _, c := range []struct {
		names []string
		lost  bool // the pods are deleted then, and nobody creates others
	}{
		{[]string{setA}, false}, {[]string{setA, "StatefulSet/c"}, false}, {[]string{setA}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			var objs []*unstructured.Unstructured
			for _, name := range c.names {
				objs = append(objs, probed(name))
			}
			if _, err := w.apply(t.Context(), policy(), within(1), want(objs...)...); err != nil {
				t.Fatal(err)
			}
			for i, name := range c.names {
				w.becomeReady(name, nil)
				w.podOf(name, true)
				w.store.State.Members[i].Reconcile = "Succeeded"
			}
			w.lines = nil
			const other = "Deployment/d"
			w.play(moment{5 * time.Second, other, false})
			time.AfterFunc(10*time.Second, func() {
				for _, name := range c.names {
					w.podOf(name, false)
					w.becomeReady(name, down)
				}
			})
			time.AfterFunc(15*time.Second, func() { w.becomeReady(other, available) })
			time.AfterFunc(20*time.Second, func() {
				if c.lost {
					w.Remove(ref("Pod/a-0"))
				}
			})
			w.hear = func(event.Event) {
				if len(w.lines) == 500 {
					panic("the run is busy without a pause")
				}
			}
			summary, err := w.apply(t.Context(), policy(), applying(2*time.Minute),
				want(append(objs, probed(other))...)...)
			if err != nil || summary.Settled[event.TimedOut] != len(c.names) {
				t.Errorf("%v, lost %t: %+v, %v\n%s", c.names, c.lost, summary.Settled, err,
					strings.Join(w.lines, "\n"))
			}
		})
	}
}

// Nothing is pruned while a workload has relapsed, whatever the last step before it is, and
// although others are applied after it.
func TestNothingIsPrunedAfterARelapse(t *testing.T) {
	for name, c := range map[string]struct{ last, then *plan.Step }{
		"others create an object": {last: &plan.Step{
			Ref: ref("ConfigMap/theirs"), Op: plan.AwaitCreated, Wait: true}},
		"a workload": {last: &plan.Step{Ref: ref(setB), Op: plan.Create, Want: probed(setB), Wait: true},
			then: &plan.Step{Ref: ref("ConfigMap/new"), Op: plan.Create, Want: thing("ConfigMap/new"),
				Needs: []int{3}, Wait: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				w.Put(thing("ConfigMap/old"))
				guard := plan.Step{Op: plan.Guard, After: []int{0, 1}}
				w.play(moment{time.Second, setA, true}, moment{5 * time.Second, setA, false})
				time.AfterFunc(10*time.Second, func() {
					if c.then == nil {
						w.Put(thing("ConfigMap/theirs"))
					} else {
						w.becomeReady(setB, nil)
					}
				})
				steps := []plan.Step{
					{Ref: ref(setA), Op: plan.Create, Want: probed(setA), Wait: true}, *c.last, guard,
					{Ref: ref("ConfigMap/old"), Op: plan.Delete, Have: w.Object(ref("ConfigMap/old")),
						Needs: []int{2}, Wait: true}}
				if c.then != nil {
					steps = append(steps, *c.then)
				}
				w.run(t.Context(), t, applying(time.Minute), steps...)
				if w.Object(ref("ConfigMap/old")) == nil {
					t.Errorf("it is pruned:\n%s", strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}

// What others have done to an object that was ready is none of the run's: they deleted or scaled
// it, or a queue started a Job.
func TestChangesByOthersAreNoRelapse(t *testing.T) {
	for name, change := range map[string]func(*world){
		"deleted": func(w *world) {
			w.becomeReady(setA, down)
			w.Remove(ref(setA))
		},
		"scaled": func(w *world) {
			obj := w.Object(ref(setA))
			obj.SetGeneration(obj.GetGeneration() + 1)
			obj.Object["spec"].(map[string]any)["replicas"] = int64(5)
			w.Put(obj)
			w.becomeReady(setA, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(&enginetest.Cluster{}), time.Now()
				w.play(moment{time.Second, setA, true}, moment{12 * time.Second, setB, true})
				time.AfterFunc(5*time.Second, func() { change(w) })
				summary, err := w.apply(t.Context(), policy(), podsRun,
					want(probed(setA), probed(setB))...)
				if took := time.Since(began); err != nil || summary.Failures() > 0 ||
					took > 15*time.Second {
					t.Errorf("%+v after %s, %v\n%s", summary.Settled, took, err,
						strings.Join(w.lines, "\n"))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w, began := newWorld(&enginetest.Cluster{}), time.Now()
		job := thing("Job/a")
		job.Object["spec"] = map[string]any{"suspend": true}
		set := func(suspended bool, status map[string]any) {
			obj := w.Object(ref("Job/a"))
			obj.Object["spec"].(map[string]any)["suspend"] = suspended
			obj.Object["status"] = status
			w.Put(obj)
		}
		time.AfterFunc(time.Second, func() {
			set(true, map[string]any{"conditions": []any{
				map[string]any{"type": "Suspended", "status": "True"}}})
		})
		time.AfterFunc(5*time.Second, func() {
			set(false, map[string]any{"startTime": "2000-01-01T00:00:05Z", "active": int64(1)})
		})
		w.play(moment{10 * time.Second, setB, true})
		summary, err := w.apply(t.Context(), policy(), podsRun, want(job, probed(setB))...)
		if took := time.Since(began); err != nil || summary.Failures() > 0 || took > 15*time.Second {
			t.Errorf("%+v after %s, %v", summary.Settled, took, err)
		}
	})
}

// A workload that is unchanged, or a pod, and that is ready at once is watched while others of
// another kind are waited for: the run does not succeed if it crashes meanwhile.
func TestWorkloadsThatAreReadyAtOnceRelapse(t *testing.T) {
	const then = "1999-12-31T00:00:00Z"
	since := func(time string) map[string]any {
		return map[string]any{"conditions": []any{
			map[string]any{"type": "Available", "status": "True", "lastTransitionTime": time},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
				"lastTransitionTime": then}}}
	}
	for _, c := range []struct {
		name    string
		crashes bool // for ever, or for a moment
		changed bool
	}{
		{"Pod/a", true, false}, {"Pod/a", true, true}, {"Pod/a", false, false},
		{"StatefulSet/a", true, false}, {"Deployment/a", true, false}, {"Deployment/a", false, false},
	} {
		name := fmt.Sprintf("%s, changed %t, crashes %t", c.name, c.changed, c.crashes)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(&enginetest.Cluster{}), time.Now()
				obj := thing(c.name)
				spec := replayed(true, 1).Object["spec"].(map[string]any)
				spec["strategy"] = map[string]any{
					"rollingUpdate": map[string]any{"maxUnavailable": "25%"}}
				obj.Object["spec"] = spec
				if c.name == "Pod/a" {
					obj.Object["spec"] = spec["template"].(map[string]any)["spec"]
				}
				become := func(isReady bool, restarts int64, fields map[string]any) {
					if c.name == "Pod/a" {
						live := w.Object(ref(c.name))
						live.Object["status"] = podStatus(isReady, restarts)
						w.Put(live)
					} else {
						w.becomeReady(c.name, fields)
					}
				}
				if _, err := w.apply(t.Context(), policy(), within(1), want(obj)...); err != nil {
					t.Fatal(err)
				}
				become(true, 0, since(then))
				w.store.State.Members[0].Reconcile, w.lines = "Succeeded", nil
				time.AfterFunc(10*time.Second, func() { become(false, 0, down) })
				if !c.crashes {
					time.AfterFunc(28*time.Second, func() {
						become(true, 1, since("2000-01-01T00:00:28Z"))
					})
				}
				other := setB
				if c.name == setA {
					other = "Deployment/b"
				}
				time.AfterFunc(30*time.Second, func() { w.becomeReady(other, available) })
				labelled := probed(other) // a watch of its pods is for these alone
				for _, path := range []string{"selector/matchLabels", "template/metadata/labels"} {
					_ = unstructured.SetNestedField(labelled.Object, map[string]any{"app": "b"},
						strings.Split("spec/"+path, "/")...)
				}
				if c.changed {
					obj = obj.DeepCopy()
					obj.SetAnnotations(map[string]string{"new": "x"})
				}
				summary, err := w.apply(t.Context(), policy(), applying(time.Minute),
					want(obj, labelled)...)
				if fails := summary.Failures() > 0; err != nil || fails != c.crashes {
					t.Errorf("%+v after %s, %v\n%s", summary.Settled, time.Since(began), err,
						strings.Join(w.lines, "\n"))
				}
				if !slices.ContainsFunc(w.lines, func(line string) bool {
					return strings.HasPrefix(line, "waiting ") && strings.Contains(line, "/a ")
				}) {
					t.Errorf("not waited for again:\n%s", strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}

// podStatus returns the status of a pod whose container was restarted now if it is ready, or has
// just ended.
func podStatus(isReady bool, restarts int64) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	state, condition := map[string]any{"terminated": map[string]any{"exitCode": int64(1)}}, "False"
	if isReady {
		state, condition = map[string]any{"running": map[string]any{"startedAt": now}}, "True"
	}
	return map[string]any{
		"phase":      "Running",
		"conditions": []any{map[string]any{"type": "Ready", "status": condition}},
		"containerStatuses": []any{map[string]any{"name": "web", "ready": isReady, "state": state,
			"restartCount": restarts}},
	}
}
