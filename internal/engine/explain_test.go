package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// child makes an object as the controller of another one would, with a status.
func (w *world) child(owner, name string, status map[string]any) *unstructured.Unstructured {
	obj := thing(name)
	if strings.HasPrefix(name, "ReplicaSet/") {
		obj.SetAPIVersion("apps/v1")
	}
	obj.SetOwnerReferences([]metav1.OwnerReference{
		{UID: w.owner(owner).GetUID(), Controller: new(true)},
	})
	obj.Object["status"] = status
	obj.Object["spec"] = map[string]any{"nodeName": "n"}
	return obj
}

func (w *world) owner(name string) *unstructured.Unstructured {
	r := ref(name)
	if strings.HasPrefix(name, "ReplicaSet/") {
		r.Group = "apps"
	}
	return w.Object(r)
}

// The statuses of pods that matter here.
var (
	noImage = container(
		map[string]any{"waiting": map[string]any{"reason": "ErrImagePull", "message": "no such image"}},
	)
	crashes = container(map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}})
	quits   = container(map[string]any{"terminated": map[string]any{"exitCode": int64(1)}})
	starts  = container(map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}})
)

// crashesAgain reads like quits, but the pod is waiting for its next start.
var crashesAgain = map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
	"name": "c", "image": "x", "state": map[string]any{
		"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
	"lastState": map[string]any{"terminated": map[string]any{"exitCode": int64(1)}},
}}}

func container(state map[string]any) map[string]any {
	return map[string]any{
		"phase":             "Pending",
		"containerStatuses": []any{map[string]any{"name": "c", "image": "x", "state": state}},
	}
}

// explained leaves the explanations in what was heard.
func (w *world) explained() {
	w.lines = slices.DeleteFunc(
		w.lines,
		func(line string) bool { return !strings.HasPrefix(line, "explained") },
	)
}

// times keeps when the run explained something.
func (w *world) times() *[]time.Duration {
	start := time.Now()
	var at []time.Duration
	w.hear = func(e event.Event) {
		if e.Kind == event.Explained {
			at = append(at, time.Since(start))
		}
	}
	return &at
}

func TestCausesAreEmittedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{
			Script: map[object.Ref][]enginetest.Change{
				ref("Deployment/slow"):  {{After: time.Minute, Status: available}},
				ref("Deployment/quick"): {{After: 4 * time.Second, Status: available}},
			},
			Logs: map[object.Ref][]string{ref("Pod/b"): {"one", "two", "three"}},
		})
		at := w.times()
		after := func(d time.Duration, f func()) { time.AfterFunc(d, f) }
		after(100*time.Millisecond, func() {
			w.Put(w.child("Deployment/slow", "ReplicaSet/slow", nil))
			w.Put(w.child("Deployment/quick", "ReplicaSet/quick", nil))
			w.Put(w.child("ReplicaSet/quick", "Pod/q", starts))
			w.Put(w.child("ReplicaSet/slow", "Pod/a", noImage))
		})
		after(
			20*time.Second,
			func() { w.Put(w.child("ReplicaSet/slow", "Pod/b", noImage)) },
		) // nothing new
		after(30*time.Second, func() { w.Put(w.child("ReplicaSet/slow", "Pod/b", quits)) })
		if _, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunNone,
			LogLines: 2},
			want(thing("Deployment/slow"), thing("Deployment/quick"))...); err != nil {
			t.Fatal(err)
		}
		w.explained()
		w.expect(t, `
			explained create deployment.apps/slow: container c: image "x": no such image
			explained create deployment.apps/slow: container c: image "x": no such image: container c crashes: it ended with exit code 1 [two three]`)
		if diff := cmp.Diff([]time.Duration{1050 * time.Millisecond, 30300 * time.Millisecond},
			*at); diff != "" {
			t.Errorf("explained at (-want +got):\n%s", diff)
		}
	})
}

// A program that prints its password when it crashes shows it to nobody: neither in a run, nor to
// those who ask for the state of the set later.
func TestCausesHideSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := thing("Secret/login")
		secret.Object["stringData"] = map[string]any{"password": "hunter22"}
		w := newWorld(&enginetest.Cluster{
			Script: map[object.Ref][]enginetest.Change{
				ref("Deployment/slow"): {{After: time.Minute, Status: available}},
			},
			Logs: map[object.Ref][]string{ref("Pod/b"): {"no access with hunter22"}},
		})
		time.AfterFunc(time.Second, func() {
			w.Put(w.child("Deployment/slow", "Pod/b", container(map[string]any{
				"terminated": map[string]any{"exitCode": int64(1), "message": "hunter22 is wrong"},
			})))
		})
		if _, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunNone,
			LogLines: 2},
			want(thing("Deployment/slow"), secret)...); err != nil {
			t.Fatal(err)
		}
		w.explained()
		w.expect(t, `
			explained create deployment.apps/slow: container c crashes: it ended with exit code 1: *** is wrong [no access with ***]`)
	})
}

// The last lines of the log of a crash are in the last explanation too, when the time of the run is
// over, and also if the container that is starting again has no log.
func TestLogsStayWhenTheTimeIsOver(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Logs: map[object.Ref][]string{ref("Pod/a"): {"one", "two", "three"}},
			})
			time.AfterFunc(100*time.Millisecond, func() {
				w.Put(w.child("Deployment/slow", "ReplicaSet/slow", nil))
				w.Put(w.child("ReplicaSet/slow", "Pod/a", quits))
			})
			if gone {
				time.AfterFunc(5*time.Second, w.DropLogs)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, engine.ErrOutOfTime)
			defer cancel()
			if _, err := w.apply(ctx, policy(), engine.Options{DryRun: engine.DryRunNone, LogLines: 2},
				want(thing("Deployment/slow"))...); err != nil {
				t.Fatal(err)
			}
			w.explained()
			w.expect(t, strings.Repeat(`
			explained create deployment.apps/slow: container c crashes: it ended with exit code 1 [two three]`, 2))
		})
	}
}

func TestWhatDidNotBecomeReadyIsExplained(t *testing.T) {
	for _, long := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
				ref("Deployment/good"):   {{After: time.Millisecond, Status: available}},
				ref("Deployment/failed"): {{After: time.Millisecond, Status: stuck}},
			}})
			time.AfterFunc(100*time.Microsecond, func() {
				w.Put(w.child("Deployment/failed", "ReplicaSet/failed", nil))
				w.Put(w.child("ReplicaSet/failed", "Pod/p", starts))
			})
			objects := want(thing("ConfigMap/a"), thing("Deployment/failed"), thing("Deployment/good"))
			if long {
				objects = append(objects, want(thing("Deployment/slow"))...)
			}
			start := time.Now()
			if _, err := w.apply(t.Context(), policy(),
				within(5*time.Second), objects...); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); !long && took > 100*time.Millisecond {
				t.Errorf("took %s although nothing was left to wait for", took)
			}
			// Nothing is wrong with the pod as far as one can see, and yet that is all there is to
			// say.
			w.explained()
			w.expect(t, "explained create deployment.apps/failed: being started by node n")
		})
	}
}

func TestFailFast(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script map[object.Ref][]enginetest.Change
		fails  map[object.Ref]error
		pod    map[string]any
		then   map[string]any // what becomes of the pod
		want   string
		record []string
	}{
		{
			name: "a pod that will hardly start", pod: crashes,
			want: `
				settled create deployment.apps/a failed (InProgress)
				settled create deployment.apps/b skipped (InProgress)
				settled create deployment.apps/c skipped`,
			record: []string{"deployment.apps/a Apply Succeeded Failed",
				"deployment.apps/b Apply Succeeded Skipped"},
		},
		{
			name: "a pod that crashes once more", pod: quits, then: crashesAgain,
			want: `
				settled create deployment.apps/a failed (InProgress)
				settled create deployment.apps/b skipped (InProgress)
				settled create deployment.apps/c skipped`,
			record: []string{"deployment.apps/a Apply Succeeded Failed",
				"deployment.apps/b Apply Succeeded Skipped"},
		},
		{
			name: "a pod that may still start", pod: quits,
			want: `
				settled create deployment.apps/a timed out (InProgress)
				settled create deployment.apps/b skipped (InProgress)
				settled create deployment.apps/c skipped`,
			record: []string{"deployment.apps/a Apply Succeeded Timeout",
				"deployment.apps/b Apply Succeeded Skipped"},
		},
		{
			name: "a failed object", script: map[object.Ref][]enginetest.Change{
				ref("Deployment/a"): {{After: time.Second, Status: stuck}}},
			want: `
				settled create deployment.apps/a failed (Failed)
				settled create deployment.apps/b skipped (InProgress)
				settled create deployment.apps/c skipped`,
			record: []string{"deployment.apps/a Apply Succeeded Failed",
				"deployment.apps/b Apply Succeeded Skipped"},
		},
		{
			name: "a write that is refused", fails: map[object.Ref]error{
				ref("Deployment/a"): apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no"))},
			want: `
				settled create deployment.apps/a failed: forbidden: no
				settled create deployment.apps/b skipped (InProgress)
				settled create deployment.apps/c skipped`,
			record: []string{"deployment.apps/b Apply Succeeded Skipped"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Script: tc.script, Fails: tc.fails, Takes: time.Millisecond})
				if tc.pod != nil {
					time.AfterFunc(100*time.Millisecond, func() {
						w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
						w.Put(w.child("ReplicaSet/a", "Pod/a", tc.pod))
					})
				}
				if tc.then != nil {
					time.AfterFunc(3*time.Second, func() { w.Put(w.child("ReplicaSet/a", "Pod/a", tc.then)) })
				}
				objects := want(
					thing("Deployment/a"),
					thing("Deployment/b"),
					thing("Deployment/c", "after=Deployment/b"),
				)
				summary, err := w.apply(
					t.Context(),
					policy(),
					engine.Options{
						DryRun: engine.DryRunNone,
						Limits: engine.Limits{Apply: limit.After(5 * time.Second)},
						StopOn: engine.StopOn{WriteError: true, WaitError: true, Stuck: true},
					},
					objects...)
				if err != nil || summary.Failures() != 1 {
					t.Errorf("apply = %+v, %v, want one that is bad", summary, err)
				}
				w.lines = slices.DeleteFunc(
					w.lines,
					func(line string) bool { return !strings.HasPrefix(line, "settled") },
				)
				slices.Sort(w.lines) // writes end in any order
				w.expect(t, tc.want)
				w.expectRecord(t, tc.record...)
			})
		})
	}
}

// A condition by which an object has failed may be from before it was repaired.
func TestFailureFromBeforeTheWriteIsDoubted(t *testing.T) {
	at := func(d time.Duration) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{
			"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
			"lastUpdateTime": time.Now().Add(d).UTC().Format(time.RFC3339),
		}}}
	}
	for _, tc := range []struct {
		name    string
		since   time.Duration
		recover bool
		bad     int
		took    time.Duration
	}{
		{name: "and is taken back", since: -time.Hour, recover: true, took: 3 * time.Second},
		{name: "and stays", since: -time.Hour, bad: 1, took: 11 * time.Second},
		{name: "a new one counts", since: time.Second, bad: 1, took: time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				changes := []enginetest.Change{{After: time.Second, Status: at(tc.since)}}
				if tc.recover {
					changes = append(changes, enginetest.Change{After: 3 * time.Second, Status: available})
				}
				w := newWorld(
					&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{ref("Deployment/a"): changes}},
				)
				w.Put(thing("Deployment/a"))
				start := time.Now()
				owned := policy()
				owned.Owner = plan.Owner{}
				summary, err := w.apply(
					t.Context(),
					owned,
					realRun,
					want(thing("Deployment/a", "changed=yes"))...)
				if err != nil || summary.Failures() != tc.bad {
					t.Errorf("apply = %+v, %v, want %d bad", summary, err, tc.bad)
				}
				if took := time.Since(start).Truncate(100 * time.Millisecond); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

// The server is asked for as little as explains: by a label while there are few objects, and once
// more at the most.
func TestSurveysAreNarrowWhileThereAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		labelled := func(name string) *unstructured.Unstructured {
			obj := thing(name)
			_, app, _ := strings.Cut(name, "/")
			obj.Object["spec"] = map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"app": app, "part-of": "shop"}},
			}
			return obj
		}
		objects := want(labelled("Deployment/a"), labelled("Deployment/b"), labelled("Deployment/c"))
		w.Script = map[object.Ref][]enginetest.Change{
			ref("Deployment/a"): {{After: 5 * time.Second, Status: available}},
		}
		objects[2].Object.SetAnnotations(map[string]string{"after": "Deployment/a"})
		if _, err := w.apply(t.Context(), policy(),
			within(10*time.Second), objects...); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range w.Queries {
			got = append(got, fmt.Sprintf("%s %s %s%s", s.Kind, s.Namespace, s.Labels, s.Fields))
		}
		want := []string{
			"ReplicaSet.apps n app in (a,b)", "Pod n app in (a,b)", "Event n type=Warning",
			"ReplicaSet.apps n ", "Pod n ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("surveys (-want +got):\n%s", diff)
		}
	})
}

func TestObserveExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		w.Put(thing("Deployment/a"))
		w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
		w.Put(w.child("ReplicaSet/a", "Pod/a", noImage))
		time.AfterFunc(5*time.Second, func() { w.Put(w.child("ReplicaSet/a", "Pod/b", crashes)) })
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		options := engine.ObserveOptions{
			Until: engine.UntilCurrent, Timeout: limit.After(10 * time.Second),
		}
		met, err := e.Observe(
			t.Context(),
			[]object.Ref{ref("Deployment/a")},
			options,
			func(e event.Event) { w.lines = append(w.lines, line(e)) },
		)
		if met || err != nil {
			t.Errorf("observe = %t, %v", met, err)
		}
		w.expect(t, `
			observed  deployment.apps/a: container c: image "x": no such image (InProgress)
			explained  deployment.apps/a: container c: image "x": no such image: container c crashes: it ended (InProgress)
			settled  deployment.apps/a timed out (InProgress)`)
	})
}

// A pod that fits on no node for a moment may fit on one soon.
func TestFailFastIsPatientWithTheScheduler(t *testing.T) {
	unplaced := map[string]any{"phase": "Pending", "conditions": []any{map[string]any{
		"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
		"message": "0/2 nodes are available",
	}}}
	for _, tc := range []struct {
		name  string
		ready time.Duration // when the Deployment is; 0 is never
		bad   int
		took  time.Duration
	}{
		{name: "placed in time", ready: 8 * time.Second, took: 8 * time.Second},
		{name: "never placed", bad: 1, took: 11 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				if tc.ready > 0 {
					w.Script = map[object.Ref][]enginetest.Change{
						ref("Deployment/a"): {{After: tc.ready, Status: available}},
					}
				}
				time.AfterFunc(100*time.Millisecond, func() {
					w.Put(w.child("Deployment/a", "ReplicaSet/a", nil))
					w.Put(w.child("ReplicaSet/a", "Pod/a", unplaced))
				})
				start := time.Now()
				summary, err := w.apply(
					t.Context(),
					policy(),
					engine.Options{
						DryRun: engine.DryRunNone,
						Limits: engine.Limits{Apply: limit.After(time.Minute)},
						StopOn: engine.StopOn{WriteError: true, WaitError: true, Stuck: true},
					},
					want(thing("Deployment/a"))...)
				if err != nil || summary.Failures() != tc.bad {
					t.Errorf("apply = %+v, %v, want %d bad", summary, err, tc.bad)
				}
				if took := time.Since(start).Truncate(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

// outages is a cluster whose watches cannot see anything for a while, twice, and say so again and
// again.
type outages struct{ *enginetest.Cluster }

func (c outages) Watch(ctx context.Context, refs []object.Ref, see func(cluster.ObjectEvent)) {
	c.Cluster.Watch(ctx, refs, see)
	go func() { // it ends by itself
		for i := range 6 {
			time.Sleep(time.Second)
			see(cluster.ObjectEvent{Ref: refs[0], Err: errors.New("out of reach")})
			if i == 2 {
				see(cluster.ObjectEvent{Ref: refs[0], Object: c.Object(refs[0])})
			}
		}
	}()
}

func TestOutagesAreEmittedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/a"): {{After: 10 * time.Second, Status: available}},
			ref("Deployment/b"): {{After: 10 * time.Second, Status: available}},
		}})
		e := &engine.Engine{Cluster: outages{w.Cluster}, Records: w.store}
		p, err := e.Plan(
			t.Context(),
			engine.Request{Desired: want(thing("Deployment/a"), thing("Deployment/b")), Policy: policy()},
		)
		if err != nil {
			t.Fatal(err)
		}
		printed := 0
		count := func(ev event.Event) {
			if ev.Err != nil {
				printed++
			}
		}
		if _, err := e.Apply(t.Context(), p, realRun, count); err != nil || printed != 2 {
			t.Errorf("printed %d times of two outages, %v", printed, err)
		}
		printed = 0
		options := engine.ObserveOptions{
			Until: engine.UntilForever, Timeout: limit.After(10 * time.Second),
		}
		if _, err := e.Observe(t.Context(), p.Refs(), options, count); err != nil || printed != 2 {
			t.Errorf("status: printed %d times of two outages, %v", printed, err)
		}
	})
}

// A controller that writes the same again and again has nothing new to say; nor is a condition from
// before a change the reason why the change is not ready.
func TestKnownCausesAreNotEmitted(t *testing.T) {
	stalled := func(at time.Time) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{
			"type": "Stalled", "status": "True", "message": "no room",
			"lastTransitionTime": at.UTC().Format(time.RFC3339),
		}}}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			&enginetest.Cluster{
				Script: map[object.Ref][]enginetest.Change{
					ref("Deployment/b"): {{After: 30 * time.Second, Status: available}},
				},
			},
		)
		old := thing("Widget/a", "owner=me", "last={}")
		old.Object["status"] = stalled(time.Now().Add(-time.Hour))
		w.Put(old)
		for i := range 4 {
			time.AfterFunc(time.Duration(15+i)*time.Second, func() {
				obj := w.Object(ref("Widget/a"))
				obj.Object["status"] = stalled(time.Now())
				w.Put(obj)
			})
		}
		at := w.times()
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("Widget/a", "changed=yes"), thing("Deployment/b"))...); err != nil {
			t.Fatal(err)
		}
		if len(*at) == 0 || (*at)[0] < 10*time.Second {
			t.Errorf("explained at %v, want not before the condition counts", *at)
		}
		printed := slices.DeleteFunc(
			w.lines,
			func(line string) bool { return !strings.HasPrefix(line, "observed") },
		)
		if len(printed) > 1 {
			t.Errorf("printed again and again:\n%s", strings.Join(printed, "\n"))
		}
	})
}

// slowLogs is a cluster whose logs take long.
type slowLogs struct{ *enginetest.Cluster }

func (slowLogs) Log(ctx context.Context, _ object.Ref, _ string, _ bool, _ int) []string {
	select {
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	return nil
}

func TestObserveDoesNotWaitForLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		var refs []object.Ref
		for i := range 30 {
			name := fmt.Sprintf("w%02d", i)
			w.Put(thing("Deployment/" + name))
			refs = append(refs, ref("Deployment/"+name))
			time.AfterFunc(2*time.Second, func() {
				w.Put(w.child("Deployment/"+name, "ReplicaSet/"+name, nil))
				w.Put(w.child("ReplicaSet/"+name, "Pod/"+name, crashes))
			})
		}
		e := &engine.Engine{Cluster: slowLogs{w.Cluster}, Records: w.store}
		options := engine.ObserveOptions{
			Until:    engine.UntilCurrent,
			Timeout:  limit.After(10 * time.Second),
			LogLines: 5,
		}
		start := time.Now()
		if _, err := e.Observe(t.Context(), refs, options, func(event.Event) {}); err != nil ||
			time.Since(start) != options.Timeout.Duration() {
			t.Errorf("took %s, %v; want %s", time.Since(start), err, options.Timeout)
		}
	})
}
