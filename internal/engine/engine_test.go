package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// realRun is the options of a run that is no dry run, with the defaults.
var realRun = engine.Options{DryRun: engine.DryRunNone}

// policy owns objects by the annotation "owner" and reads dependencies, as Kind/name, from the
// annotation "after". The annotation "takes" is a substitution: Kind/name, the path of the value,
// the path of the field.
func policy() plan.Policy {
	return plan.Policy{
		Order: plan.KindOrder{First: []schema.GroupKind{{Kind: "Namespace"}, {Kind: "ConfigMap"}}},
		Owner: plan.Owner{Annotation: "owner", ID: "me"},
		DependsOn: func(obj *unstructured.Unstructured) (refs []object.Ref, err error) {
			for _, name := range strings.Fields(obj.GetAnnotations()["after"]) {
				refs = append(refs, ref(name))
			}
			return refs, nil
		},
		Substitutions: func(obj *unstructured.Unstructured) (list []mutation.Substitution, err error) {
			if words := strings.Fields(obj.GetAnnotations()["takes"]); len(words) == 3 {
				list = append(list, mutation.Substitution{Source: ref(words[0]), From: words[1], To: words[2]})
			}
			return list, nil
		},
		LastApplied: "last",
	}
}

// ref reads Kind/name; a Deployment is of group apps, and all but namespaces are in namespace n.
func ref(text string) object.Ref {
	kind, name, _ := strings.Cut(text, "/")
	r := object.Ref{Kind: kind, Namespace: "n", Name: name}
	if kind == "Deployment" || kind == "StatefulSet" {
		r.Group = "apps"
	}
	if kind == "Job" {
		r.Group = "batch"
	}
	if kind == "Widget" {
		r.Group = "example.com"
	}
	if kind == "Namespace" {
		r.Namespace = ""
	}
	return r
}

// thing makes an object from Kind/name and annotations as key=value.
func thing(name string, annotations ...string) *unstructured.Unstructured {
	r := ref(name)
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: r.Group, Version: "v1", Kind: r.Kind})
	obj.SetNamespace(r.Namespace)
	obj.SetName(r.Name)
	values := map[string]string{}
	for _, annotation := range annotations {
		key, value, _ := strings.Cut(annotation, "=")
		values[key] = value
	}
	if len(values) > 0 {
		obj.SetAnnotations(values)
	}
	return obj
}

func want(objects ...*unstructured.Unstructured) []plan.Desired {
	desired := make([]plan.Desired, len(objects))
	for i, obj := range objects {
		desired[i] = plan.Desired{Object: obj, Source: obj.GetName() + ".yaml"}
	}
	return desired
}

// The statuses of a Deployment that matter here.
var (
	available = map[string]any{
		"replicas": int64(
			1,
		), "updatedReplicas": int64(1), "availableReplicas": int64(1), "readyReplicas": int64(1),
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{
				"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
			},
		},
	}
	stuck = map[string]any{
		"conditions": []any{
			map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
		},
	}
)

// world is a cluster with a record, and what was heard of the runs.
type world struct {
	*enginetest.Cluster
	store *enginetest.Store
	lines []string
	hear  func(event.Event)

	rules   engine.Rules // of run
	decider plan.Decider // of run
}

func newWorld(c *enginetest.Cluster) *world {
	return &world{Cluster: c, store: &enginetest.Store{Cluster: c}}
}

func (w *world) apply(
	ctx context.Context,
	policy plan.Policy,
	o engine.Options,
	desired ...plan.Desired,
) (event.Summary, error) {
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	policy.Destroy = len(desired) == 0
	p, err := e.Plan(ctx, engine.Request{Desired: desired, Policy: policy})
	if err != nil {
		return event.Summary{}, err
	}
	return e.Apply(ctx, p, o, func(ev event.Event) {
		w.lines = append(w.lines, line(ev))
		if w.hear != nil {
			w.hear(ev)
		}
	})
}

// within returns options that limit how long an applied object may take to become ready.
func within(d time.Duration) engine.Options {
	return engine.Options{DryRun: engine.DryRunNone, Limits: engine.Limits{Apply: limit.After(d)}}
}

// line is an event in one line: what happened, to what, how.
func line(e event.Event) string {
	text := fmt.Sprintf("%s %s %s", e.Kind, e.Op, e.Ref.Short())
	if e.Outcome != "" {
		text += " " + string(e.Outcome)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Released {
		text += " released"
	}
	if e.StepTimeout {
		text += " by its own limit"
	}
	for _, made := range e.Children {
		text += fmt.Sprintf(" [%s %s]", made.Ref.Short(), made.Status.Message)
	}
	for _, cause := range e.Causes {
		text += ": " + cause.Message
		if len(cause.Log) > 0 {
			text += fmt.Sprintf(" %v", cause.Log)
		}
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	} else if e.Status.State != "" && e.Kind != event.Acted {
		text += fmt.Sprintf(" (%s)", e.Status.State)
	}
	return text
}

// expect compares everything that was heard since the last time.
func (w *world) expect(t *testing.T, lines string) {
	t.Helper()
	got := strings.Join(w.lines, "\n")
	if diff := cmp.Diff(strings.TrimSpace(strings.ReplaceAll(lines, "\t", "")), got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.lines = nil
}

func (w *world) expectRecord(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, m := range w.store.State.Members {
		got = append(got, fmt.Sprintf("%s %s %s %s", m.Ref.Short(), m.Strategy, m.Actuation, m.Reconcile))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestDependantStartsWhenDependencyIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/db"):  {{After: time.Minute, Status: available}},
			ref("Deployment/web"): {{After: time.Second, Status: available}},
		}, Lingers: map[object.Ref]time.Duration{ref("Deployment/db"): time.Second,
			ref("Deployment/web"): time.Second}})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("Deployment/web", "after=Deployment/db"), thing("Deployment/db"))...); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted create deployment.apps/db succeeded
			waiting create deployment.apps/db (InProgress)
			settled create deployment.apps/db succeeded (Current)
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			settled create deployment.apps/web succeeded (Current)`)
		w.expectRecord(
			t,
			"deployment.apps/db Apply Succeeded Succeeded",
			"deployment.apps/web Apply Succeeded Succeeded",
		)

		if _, err := w.apply(t.Context(), policy(), realRun); err != nil {
			t.Fatal(err)
		}
		w.expect(t, `
			acted delete deployment.apps/web succeeded
			waiting delete deployment.apps/web (Terminating)
			settled delete deployment.apps/web succeeded (NotFound)
			acted delete deployment.apps/db succeeded
			waiting delete deployment.apps/db (Terminating)
			settled delete deployment.apps/db succeeded (NotFound)`)
		if !w.store.Deleted || w.Refs().Len() != 0 {
			t.Errorf(
				"destroy left the record (deleted: %t) or objects: %v",
				w.store.Deleted,
				w.Refs().Refs(),
			)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		changes    []enginetest.Change
		took       time.Duration
		successors bool
	}{
		{
			name: "not when somebody replaces the object, if successors count", took: 10 * time.Second,
			changes: []enginetest.Change{{After: time.Second, Again: true}}, successors: true,
			want: `settled create deployment.apps/web timed out (InProgress)`,
		},
		{
			name: "later when somebody deletes the object, if successors count", took: 3 * time.Second,
			changes: []enginetest.Change{{After: time.Second, Gone: true}}, successors: true,
			want: `settled create deployment.apps/web failed: it was deleted while it was waited for`,
		},
		{
			name: "in time", took: 9 * time.Second,
			changes: []enginetest.Change{{After: 9 * time.Second, Status: available}},
			want:    `settled create deployment.apps/web succeeded (Current)`,
		},
		{
			name: "when the time is up", took: 10 * time.Second,
			changes: []enginetest.Change{{After: 11 * time.Second, Status: available}},
			want:    `settled create deployment.apps/web timed out (InProgress)`,
		},
		{
			name: "early when all that is left has failed", took: time.Second,
			changes: []enginetest.Change{{After: time.Second, Status: stuck},
				{After: 2 * time.Second, Status: available}},
			want: `settled create deployment.apps/web failed (Failed)`,
		},
		{
			name: "when somebody deletes the object", took: time.Second,
			changes: []enginetest.Change{{After: time.Second, Gone: true}},
			want:    `settled create deployment.apps/web failed: it was deleted while it was waited for`,
		},
		{
			name: "when somebody replaces the object", took: time.Second,
			changes: []enginetest.Change{{After: time.Second, Again: true}},
			want:    `settled create deployment.apps/web failed: it was deleted while it was waited for`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				w := newWorld(
					&enginetest.Cluster{
						Script: map[object.Ref][]enginetest.Change{ref("Deployment/web"): tc.changes},
					},
				)
				if _, err := w.apply(t.Context(), policy(),
					engine.Options{
						DryRun:     engine.DryRunNone,
						Limits:     engine.Limits{Apply: limit.After(10 * time.Second)},
						Successors: tc.successors,
					},
					want(thing("Deployment/web"))...); err != nil {
					t.Fatal(err)
				}
				if got := w.lines[len(w.lines)-1]; got != tc.want {
					t.Errorf("last event = %q, want %q", got, tc.want)
				}
				if took := time.Since(start).Truncate(100 * time.Millisecond); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

func TestFailedObjectMayRecoverWhileOthersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/a"): {
				{After: time.Second, Status: stuck},
				{After: 3 * time.Second, Status: available},
			},
			ref("Deployment/b"): {{After: 5 * time.Second, Status: available}},
		}})
		summary, err := w.apply(
			t.Context(),
			policy(),
			realRun,
			want(thing("Deployment/a"), thing("Deployment/b"))...)
		if err != nil || summary.Failures() != 0 {
			t.Errorf("apply = %+v, %v; want nothing bad", summary, err)
		}
	})
}

func TestNothingIsPrunedAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("ConfigMap/old"), thing("ConfigMap/kept"))...); err != nil {
			t.Fatal(err)
		}
		w.lines = nil
		w.Fails = map[object.Ref]error{ref("ConfigMap/new"): errors.New("no")}
		summary, err := w.apply(
			t.Context(),
			policy(),
			realRun,
			want(thing("ConfigMap/kept"), thing("ConfigMap/new"))...)
		if err != nil || summary.Failures() != 1 {
			t.Errorf("apply = %+v, %v; want one failure", summary, err)
		}
		w.expect(t, `
			acted unchanged configmap/kept succeeded
			settled unchanged configmap/kept succeeded (Current)
			acted create configmap/new failed: no
			settled create configmap/new failed: no
			acted delete configmap/old skipped: nothing is pruned after a failure
			settled delete configmap/old skipped`)
		w.expectRecord(
			t,
			"configmap/kept Apply Succeeded Succeeded",
			"configmap/old Delete Skipped Skipped",
			"configmap/new Apply Failed Failed",
		)

		w.Fails = nil
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("ConfigMap/kept"), thing("ConfigMap/new"))...); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(
			t,
			"configmap/kept Apply Succeeded Succeeded",
			"configmap/new Apply Succeeded Succeeded",
		)
		if w.Object(ref("ConfigMap/old")) != nil {
			t.Error("the next good run did not prune")
		}
	})
}

// What is wanted could not be written because what it depends on belongs to somebody else. That is
// no failure, but what it may replace stays.
func TestNothingIsPrunedWhileSomethingCannotBeApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("ConfigMap/old"))...); err != nil {
			t.Fatal(err)
		}
		w.Put(thing("ConfigMap/theirs", "owner=them"))
		w.lines = nil
		summary, err := w.apply(
			t.Context(),
			policy(),
			realRun,
			want(thing("ConfigMap/theirs"), thing("ConfigMap/new", "after=ConfigMap/theirs"))...)
		if err != nil || summary.Failures() != 0 {
			t.Errorf("apply = %+v, %v", summary, err)
		}
		w.expect(t, `
			acted skip configmap/theirs skipped: it belongs to another inventory (owner: them)
			settled skip configmap/theirs skipped
			acted create configmap/new skipped
			settled create configmap/new skipped
			acted delete configmap/old skipped: nothing is pruned while n/configmap/new cannot be applied
			settled delete configmap/old skipped`)
		w.expectRecord(t, "configmap/old Delete Skipped Skipped")
	})
}

func TestUnchangedRunWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		for range 2 {
			w.Wrote = nil
			if _, err := w.apply(t.Context(), policy(), realRun,
				want(thing("ConfigMap/a"), thing("ConfigMap/b"))...); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"save record"}, w.Wrote); diff != "" {
			t.Errorf(
				"writes of the second run (the store itself leaves out a save that changes nothing):\n%s",
				diff,
			)
		}
	})
}

func TestWritesAreConcurrentUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newWorld(&enginetest.Cluster{Takes: time.Second})
		var objects []*unstructured.Unstructured
		for i := range 95 {
			objects = append(objects, thing(fmt.Sprintf("ConfigMap/c%d", i)))
		}
		if _, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunNone,
			Concurrency: 10},
			want(objects...)...); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 10*time.Second || w.Most() != 10 {
			t.Errorf("95 writes of a second took %s with %d at once, want 10s with 10", took, w.Most())
		}
	})
}

func TestDryRunWritesNothing(t *testing.T) {
	for _, mode := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			home := policy()
			home.RecordNamespace = ref("Namespace/n")
			objects := want(thing("Namespace/n"), thing("ConfigMap/a"))
			if _, err := w.apply(t.Context(), home, engine.Options{DryRun: mode}, objects...); err != nil {
				t.Fatal(err)
			}
			if len(w.Wrote) != 0 || w.Refs().Len() != 0 || len(w.store.State.Members) != 0 {
				t.Errorf("%s dry run wrote %v", mode, w.Wrote)
			}
			reason := ""
			if mode == engine.DryRunServer {
				reason = ": validated in namespace default: namespace/n would be created by the same run"
			}
			w.expect(t, `
				acted create namespace/n succeeded
				settled create namespace/n succeeded
				acted create configmap/a succeeded`+reason+`
				settled create configmap/a succeeded`)
		})
	}
}

func TestNamespaceOfTheRecordComesFirstAndGoesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			&enginetest.Cluster{Lingers: map[object.Ref]time.Duration{ref("ConfigMap/a"): time.Minute}},
		)
		home := policy()
		home.RecordNamespace = ref("Namespace/n")
		if _, err := w.apply(t.Context(), home, realRun,
			want(thing("ConfigMap/a"), thing("Namespace/n"))...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"create namespace/n", "save record", "create n/configmap/a",
			"save record"}, w.Wrote); diff != "" {
			t.Error(diff)
		}
		w.Wrote = nil
		if _, err := w.apply(t.Context(), home, engine.Options{
			DryRun: engine.DryRunNone,
			Limits: engine.Limits{Delete: limit.After(time.Second)}}); err != nil {
			t.Fatal(err)
		}
		if w.Object(ref("Namespace/n")) == nil {
			t.Error(
				"the namespace of the record was deleted although an object of the record was still there",
			)
		}
		w.expectRecord(t, "namespace/n Delete Skipped Skipped", "configmap/a Delete Succeeded Timeout")
	})
}

func TestControllersGetAMomentToReport(t *testing.T) {
	reports := func(status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}
	}
	for _, tc := range []struct {
		name    string
		changes []enginetest.Change
		timeout time.Duration
		took    time.Duration
		bad     int
	}{
		{name: "nobody ever does", took: 2 * time.Second},
		{name: "nobody does in the time that there is", timeout: time.Second, took: time.Second},
		{name: "one does in time", took: time.Second,
			changes: []enginetest.Change{{After: time.Second, Status: reports("True")}}},
		{
			name: "one does, and is waited for", took: 9 * time.Second,
			changes: []enginetest.Change{{After: time.Second, Status: reports("False")},
				{After: 9 * time.Second, Status: reports("True")}},
		},
		{
			name: "one does, and is not done", timeout: 5 * time.Second, took: 5 * time.Second, bad: 1,
			changes: []enginetest.Change{{After: time.Second, Status: reports("False")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(
					&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{ref("Widget/w"): tc.changes}},
				)
				start := time.Now()
				summary, err := w.apply(
					t.Context(),
					policy(),
					engine.Options{DryRun: engine.DryRunNone,
						Limits: engine.Limits{Apply: limit.OfFlag(tc.timeout)}},
					want(thing("Widget/w"))...)
				if err != nil || summary.Failures() != tc.bad {
					t.Errorf("apply = %+v, %v, want %d bad", summary, err, tc.bad)
				}
				if took := time.Since(start).Truncate(100 * time.Millisecond); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				if tc.bad > 0 {
					return
				}
				start = time.Now()
				if _, err := w.apply(t.Context(), policy(), realRun,
					want(thing("Widget/w"))...); err != nil ||
					time.Since(start) != 0 {
					t.Errorf("an unchanged object was given time again: %v, %s", err, time.Since(start))
				}
			})
		})
	}
}

func TestPollingSeesWhatIsWrittenLaterAndWhatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Polls: true, Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/a"): {{After: 3 * time.Second, Status: available}},
			ref("Deployment/b"): {{After: 3 * time.Second, Status: available}},
			ref("Deployment/c"): {{After: 3 * time.Second, Gone: true}},
		}})
		objects := want(
			thing("Deployment/a"),
			thing("Deployment/b", "after=Deployment/a"),
			thing("Deployment/c"),
		)
		summary, err := w.apply(
			t.Context(),
			policy(),
			within(time.Minute),
			objects...)
		if err != nil || summary.Settled[event.Succeeded] != 2 || summary.Settled[event.Failed] != 1 {
			t.Errorf(
				"apply = %+v, %v; want a and b ready and c failed:\n%s",
				summary,
				err,
				strings.Join(w.lines, "\n"),
			)
		}
	})
}
