package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// withData returns an object with one field of data.
func withData(name, value string, annotations ...string) *unstructured.Unstructured {
	obj := thing(name, annotations...)
	obj.Object["data"] = map[string]any{"key": value}
	return obj
}

// meanwhile applies one set of objects, plans another, lets others change the cluster, and runs the
// plan. It returns the lines of the run.
func (w *world) meanwhile(
	t *testing.T, p plan.Policy, before, after []plan.Desired, others func(ctx context.Context),
) {
	t.Helper()
	if _, err := w.apply(t.Context(), p, realRun, before...); err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	p.Destroy = len(after) == 0
	made, err := e.Plan(t.Context(), engine.Request{Desired: after, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	others(t.Context())
	w.lines, w.Asked = nil, nil
	if _, err := e.Apply(t.Context(), made, realRun,
		func(ev event.Event) { w.lines = append(w.lines, line(ev)) }); err != nil {
		t.Fatal(err)
	}
}

// retaining is a policy under which an annotation keeps an object from being deleted.
func retaining() plan.Policy {
	p := policy()
	p.Retain = []plan.Annotation{{Key: "on-remove", Value: "keep"}}
	return p
}

// A removal is decided again if its object has changed since the plan was made.
func TestRemovalOfChangedObject(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   *unstructured.Unstructured
		want     string
		deleted  bool
		recorded bool
	}{
		{"others own it now", thing("ConfigMap/a", "owner=them"), `
			acted keep configmap/a skipped: it belongs to another inventory (owner: them)
			settled delete configmap/a skipped`, false, true},
		{"its owner wants it kept", thing("ConfigMap/a", "owner=me", "on-remove=keep"), `
			acted orphan configmap/a skipped: annotation prevents deletion ("on-remove": "keep")
			settled delete configmap/a skipped`, false, false},
		{"something else has changed", withData("ConfigMap/a", "new", "owner=me"), `
			acted delete configmap/a succeeded
			settled delete configmap/a succeeded (NotFound)`, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			w.meanwhile(t, retaining(), want(thing("ConfigMap/a"), thing("ConfigMap/b")),
				want(thing("ConfigMap/b")), func(context.Context) { w.overwrite(tc.change) })
			w.lines = slices.DeleteFunc(w.lines, func(text string) bool {
				return !strings.Contains(text, "configmap/a")
			})
			w.expect(t, tc.want)
			live := w.Object(ref("ConfigMap/a"))
			if (live == nil) != tc.deleted {
				t.Errorf("the object is %v", live)
			}
			if live != nil && !tc.recorded && live.GetAnnotations()["owner"] != "" {
				t.Errorf("it was not released: %v", live.GetAnnotations())
			}
			if recorded := slices.Contains(w.recorded(), ref("ConfigMap/a")); recorded != tc.recorded {
				t.Errorf("recorded: %t", recorded)
			}
		})
	}
}

// An object that was to stay is not deleted when its owner takes back the wish, and one that others
// delete is waited for.
func TestRemovalIsNotEscalated(t *testing.T) {
	synctest.Test(t, testRemovalIsNotEscalated)
}

func testRemovalIsNotEscalated(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	w.meanwhile(t, retaining(), want(thing("ConfigMap/a", "on-remove=keep")), nil,
		func(context.Context) { w.overwrite(thing("ConfigMap/a", "owner=me")) })
	w.expect(t, `
		acted orphan configmap/a skipped: annotation prevents deletion ("on-remove": "keep")
		settled orphan configmap/a skipped`)
	if w.Object(ref("ConfigMap/a")) == nil {
		t.Error("it was deleted")
	}
	w = newWorld(&enginetest.Cluster{})
	w.meanwhile(t, policy(), want(thing("ConfigMap/a")), nil, func(context.Context) {
		leaving, now := thing("ConfigMap/a", "owner=me"), metav1.Now()
		leaving.SetDeletionTimestamp(&now)
		w.overwrite(leaving)
		time.AfterFunc(10*time.Millisecond, func() { w.Remove(ref("ConfigMap/a")) })
	})
	w.expect(t, `
		acted delete configmap/a succeeded
		waiting delete configmap/a (Terminating)
		settled delete configmap/a succeeded (NotFound)`)
	if slices.Contains(w.Wrote, "delete n/configmap/a") {
		t.Errorf("it was deleted once more: %v", w.Wrote)
	}
}

// An object that was deleted and created by others is not deleted.
func TestRemovalOfReplacedObject(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	w.meanwhile(t, policy(), want(thing("ConfigMap/a")), nil, func(context.Context) {
		other := thing("ConfigMap/a", "owner=me")
		other.SetUID("another")
		w.Put(other)
	})
	w.expect(t, `
		acted delete configmap/a failed: it was replaced by another object meanwhile
		settled delete configmap/a failed: it was replaced by another object meanwhile`)
	if !slices.Contains(w.recorded(), ref("ConfigMap/a")) {
		t.Error("it is not recorded any more")
	}
}

// An update is decided again if its object has changed since the plan was made, both on the
// client's side and on the server's.
func TestUpdateOfObjectThatOthersTookOver(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		w := newWorld(&enginetest.Cluster{})
		p := policy()
		p.ServerSide = serverSide
		w.meanwhile(t, p, want(withData("ConfigMap/a", "old")), want(withData("ConfigMap/a", "new")),
			func(context.Context) { w.overwrite(withData("ConfigMap/a", "theirs", "owner=them")) })
		w.expect(t, `
			acted skip configmap/a skipped: it belongs to another inventory (owner: them)
			settled update configmap/a skipped`)
		live := w.Object(ref("ConfigMap/a"))
		if value, _, _ := unstructured.NestedString(live.Object, "data", "key"); value != "theirs" {
			t.Errorf("server side %t: the object has the value %q", serverSide, value)
		}
	}
}

// Server-side apply does not take over an object that others created since the plan was made, even
// if it takes over fields.
func TestServerSideCreationOfObjectThatExists(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	p := policy()
	p.ServerSide, p.Force = true, true
	w.Put(thing("ConfigMap/other")) // takes the version 1, which no object has on a server
	w.meanwhile(t, p, nil, want(withData("ConfigMap/a", "ours")),
		func(context.Context) { w.Put(withData("ConfigMap/a", "theirs", "owner=them")) })
	w.expect(t, `
		acted skip configmap/a skipped: it belongs to another inventory (owner: them)
		settled create configmap/a skipped`)
	if owner := w.Object(ref("ConfigMap/a")).GetAnnotations()["owner"]; owner != "them" {
		t.Errorf("the owner is %q", owner)
	}
}

// Unchanged objects behind others that were written are read again, all with one read, and decided
// about again.
func TestUnchangedObjectsBehindOthers(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	first := withData("ConfigMap/first", "old")
	behind := func() []*unstructured.Unstructured {
		var objects []*unstructured.Unstructured
		for _, name := range []string{"gone", "drifted", "same", "taken"} {
			objects = append(objects, withData("ConfigMap/"+name, "ours", "after=ConfigMap/first"))
		}
		return objects
	}
	w.meanwhile(t, policy(), want(append(behind(), first)...),
		want(append(behind(), withData("ConfigMap/first", "new"))...), func(ctx context.Context) {
			w.remove(ctx, t, "ConfigMap/gone")
			drifted := w.Object(ref("ConfigMap/drifted"))
			drifted.Object["data"] = map[string]any{"key": "theirs"}
			w.Put(drifted)
			w.overwrite(withData("ConfigMap/taken", "ours", "owner=them", "after=ConfigMap/first"))
		})
	slices.Sort(w.lines)
	w.expect(t, `
		acted skip configmap/taken skipped: it belongs to another inventory (owner: them)
		acted unchanged configmap/gone failed: it was deleted by somebody else meanwhile; apply once more to create it
		acted unchanged configmap/same succeeded
		acted update configmap/drifted succeeded
		acted update configmap/first succeeded
		settled unchanged configmap/drifted succeeded (Current)
		settled unchanged configmap/gone failed: it was deleted by somebody else meanwhile; apply once more to create it
		settled unchanged configmap/same succeeded (Current)
		settled unchanged configmap/taken skipped
		settled update configmap/first succeeded (Current)`)
	if len(w.Asked) != 1 || len(w.Asked[0]) != 4 {
		t.Errorf("read %v", w.Asked)
	}
}

// A Job that removes itself while the run writes what it depends on is done, if it had succeeded
// when the plan was made. One that has no time to live, or had not succeeded, was deleted by
// others.
func TestJobRemovesItselfDuringRun(t *testing.T) {
	synctest.Test(t, testJobRemovesItselfDuringRun)
}

func testJobRemovesItselfDuringRun(t *testing.T) {
	jobOf := func(name string) *unstructured.Unstructured {
		obj := thing("Job/"+name, "after=ConfigMap/first")
		obj.SetAPIVersion("batch/v1")
		if name != "forever" {
			obj.Object["spec"] = map[string]any{"ttlSecondsAfterFinished": int64(0)}
		}
		return obj
	}
	set := func(value string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{withData("ConfigMap/first", value), jobOf("done"),
			jobOf("ending"), jobOf("forever"), jobOf("running")}
	}
	script := map[object.Ref][]enginetest.Change{}
	for _, name := range []string{"done", "ending", "forever", "running"} {
		script[object.RefOf(jobOf(name))] = []enginetest.Change{{
			After: time.Second, Status: map[string]any{
				"completionTime": "2026-01-01T12:00:00Z",
				"conditions":     []any{map[string]any{"type": "Complete", "status": "True"}},
			},
		}}
	}
	w := newWorld(&enginetest.Cluster{Script: script})
	before, err := w.apply(t.Context(), policy(), realRun, want(set("old")...)...)
	if err != nil || before.Failures() > 0 {
		t.Fatal(before, err)
	}
	running := w.Object(object.RefOf(jobOf("running")))
	delete(running.Object, "status")
	w.Put(running)
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	recreate := policy()
	recreate.RecreateDeleted = true
	made, err := e.Plan(t.Context(), engine.Request{Desired: want(set("new")...), Policy: recreate})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"done", "forever", "running"} {
		w.Remove(object.RefOf(jobOf(name)))
	}
	ending := w.Object(object.RefOf(jobOf("ending")))
	ending.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	w.Put(ending)
	w.lines = nil
	if _, err := e.Apply(t.Context(), made, realRun,
		func(ev event.Event) { w.lines = append(w.lines, line(ev)) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(w.lines)
	const done, deleted = "succeeded: " + plan.CompletedText,
		"failed: it was deleted by somebody else meanwhile; apply once more to create it"
	w.expect(t, `
		acted unchanged job.batch/done `+done+`
		acted unchanged job.batch/ending `+done+`
		acted unchanged job.batch/forever `+deleted+`
		acted unchanged job.batch/running `+deleted+`
		acted update configmap/first succeeded
		settled unchanged job.batch/done succeeded
		settled unchanged job.batch/ending succeeded
		settled unchanged job.batch/forever `+deleted+`
		settled unchanged job.batch/running `+deleted+`
		settled update configmap/first succeeded (Current)`)
}

// Objects that wait for nothing that changed are not read again.
func TestUnchangedObjectsAreReadOnce(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	set := want(withData("ConfigMap/a", "same"), withData("ConfigMap/b", "same", "after=ConfigMap/a"))
	w.meanwhile(t, policy(), set, set, func(context.Context) {})
	if len(w.Asked) != 0 {
		t.Errorf("read %v", w.Asked)
	}
}

// overwrite replaces the content of an existing object, as others would.
func (w *world) overwrite(obj *unstructured.Unstructured) {
	obj.SetUID(w.Object(object.RefOf(obj)).GetUID())
	w.Put(obj)
}

// recorded returns the objects of the record.
func (w *world) recorded() []object.Ref { return w.store.State.Refs() }

// remove deletes an object as others would.
func (w *world) remove(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if _, err := w.Delete(ctx, cluster.Delete{Ref: ref(name)}); err != nil {
		t.Fatal(err)
	}
}
