package engine_test

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

var conflict = apierrors.NewConflict(
	schema.GroupResource{Resource: "configmaps"},
	"a",
	errors.New("the object has been modified"),
)

// sized is a ConfigMap with two fields.
func sized(colour, size string) *unstructured.Unstructured {
	obj := thing("ConfigMap/a")
	obj.Object["data"] = map[string]any{"colour": colour, "size": size}
	return obj
}

// Where the server gives up because others keep changing the object, what it is now is merged: what
// somebody else changed of ours is set again, although it was as wanted when the plan was made.
func TestConflictIsMergedAgain(t *testing.T) {
	for conflicts, outcome := range map[int]event.Outcome{9: event.Succeeded, 10: event.Failed} {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(sized("red", "small"))...); err != nil {
			t.Fatal(err)
		}
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		p, err := e.Plan(
			t.Context(),
			engine.Request{Desired: want(sized("red", "big")), Policy: policy()},
		)
		if err != nil {
			t.Fatal(err)
		}
		meddled := w.Object(ref("ConfigMap/a"))
		meddled.Object["data"] = map[string]any{"colour": "green", "size": "small", "theirs": "kept"}
		w.Put(meddled)
		w.Answers = map[object.Ref][]error{}
		for range conflicts {
			w.Answers[ref("ConfigMap/a")] = append(w.Answers[ref("ConfigMap/a")], conflict)
		}
		var last event.Event
		if _, err := e.Apply(t.Context(), p, realRun,
			func(ev event.Event) { last = ev }); err != nil {
			t.Fatal(err)
		}
		colour, _, _ := unstructured.NestedString(w.Object(ref("ConfigMap/a")).Object, "data", "colour")
		theirs, _, _ := unstructured.NestedString(w.Object(ref("ConfigMap/a")).Object, "data", "theirs")
		if last.Outcome != outcome || theirs != "kept" ||
			(colour == "red") != (outcome == event.Succeeded) {
			t.Errorf("after %d conflicts: %s, colour %s, theirs %s", conflicts, last.Outcome, colour, theirs)
		}
	}
}

// resized applies an object and plans a change of it.
func (w *world) resized(t *testing.T) (*engine.Engine, *plan.Plan) {
	t.Helper()
	if _, err := w.apply(t.Context(), policy(), realRun,
		want(sized("red", "small"))...); err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	p, err := e.Plan(t.Context(), engine.Request{Desired: want(sized("red", "big")), Policy: policy()})
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

// An object that was replaced by another of its name is left alone.
func TestConflictWithAnotherObject(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	e, p := w.resized(t)
	other := sized("green", "other")
	other.SetUID("another")
	w.Put(other)
	w.Answers = map[object.Ref][]error{ref("ConfigMap/a"): {conflict}}
	var last event.Event
	if _, err := e.Apply(t.Context(), p, realRun,
		func(ev event.Event) { last = ev }); err != nil {
		t.Fatal(err)
	}
	if last.Outcome != event.Failed ||
		last.Err.Error() != "it was replaced by another object meanwhile" {
		t.Errorf("outcome %s: %v", last.Outcome, last.Err)
	}
}

// What was to be created and is that exists is dealt with as if it had been there when the plan was
// made.
func TestObjectExistsMeanwhile(t *testing.T) {
	frozen := []plan.Annotation{{Key: "freeze", Value: "yes"}}
	for _, tc := range []struct {
		name, object string
		there        *unstructured.Unstructured // nil for one that is gone again at once
		adoption     plan.Adoption
		want         string
	}{
		{"ours, as wanted", "ConfigMap/a", thing("ConfigMap/a", "owner=me", "freeze=no", `last={"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"freeze":"no","owner":"me"},"name":"a","namespace":"n"}}`+"\n"), "", `
			acted unchanged configmap/a succeeded
			settled create configmap/a succeeded (Current)`},
		{"ours, and other than wanted", "ConfigMap/a", thing("ConfigMap/a", "owner=me"), "", `
			acted update configmap/a succeeded
			settled create configmap/a succeeded (Current)`},
		{"another's", "ConfigMap/a", thing("ConfigMap/a", "owner=them"), "", `
			acted skip configmap/a skipped: it belongs to another inventory (owner: them)
			settled create configmap/a skipped`},
		{"nobody's", "ConfigMap/a", thing("ConfigMap/a"), "", `
			acted skip configmap/a skipped: it exists and belongs to no inventory (no owner annotation)
			settled create configmap/a skipped`},
		{"nobody's, and to be adopted", "ConfigMap/a", thing("ConfigMap/a"), plan.AdoptUnowned, `
			acted update configmap/a succeeded
			settled create configmap/a succeeded (Current)`},
		{"ours, and to be left", "ConfigMap/frozen", thing("ConfigMap/frozen", "owner=me"), "", `
			acted skip configmap/frozen skipped: annotation prevents apply ("freeze": "yes")
			settled create configmap/frozen skipped`},
		{"gone again", "ConfigMap/a", nil, "", `
			acted create configmap/a succeeded
			settled create configmap/a succeeded (Current)`},
		{"another's, which others need", "Namespace/a", thing("Namespace/a", "owner=them"), "", `
			acted create namespace/a failed: somebody else created it meanwhile: it belongs to another inventory (owner: them); apply once more
			settled create namespace/a failed: somebody else created it meanwhile: it belongs to another inventory (owner: them); apply once more`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			p := policy()
			p.Owner.Adoption, p.CreateOnly = tc.adoption, frozen
			mark := "freeze=no"
			if tc.object == "ConfigMap/frozen" {
				mark = "freeze=yes"
			}
			e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
			made, err := e.Plan(
				t.Context(),
				engine.Request{Desired: want(thing(tc.object, mark)), Policy: p},
			)
			if err != nil {
				t.Fatal(err)
			}
			if tc.there != nil {
				w.Put(tc.there)
			} else {
				w.Answers = map[object.Ref][]error{ref(tc.object): {apierrors.NewAlreadyExists(
					schema.GroupResource{Resource: "configmaps"}, "a")}}
			}
			if _, err := e.Apply(t.Context(), made, realRun,
				func(ev event.Event) { w.lines = append(w.lines, line(ev)) }); err != nil {
				t.Fatal(err)
			}
			w.expect(t, tc.want)
			_, written := w.Object(ref(tc.object)).GetAnnotations()["freeze"]
			if written == (strings.Contains(tc.want, "skipped") || strings.Contains(tc.want, "failed")) {
				t.Errorf("what is wanted was written: %t", written)
			}
		})
	}
}

// What was to be updated and is gone is not created: somebody did not want it.
func TestObjectGoneMeanwhile(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	e, p := w.resized(t)
	if _, err := w.Delete(t.Context(), cluster.Delete{Ref: ref("ConfigMap/a")}); err != nil {
		t.Fatal(err)
	}
	w.lines = nil
	if _, err := e.Apply(t.Context(), p, realRun,
		func(ev event.Event) { w.lines = append(w.lines, line(ev)) }); err != nil {
		t.Fatal(err)
	}
	w.expect(t, `
		acted update configmap/a failed: it was deleted by somebody else meanwhile; apply once more to create it
		settled update configmap/a failed: it was deleted by somebody else meanwhile; apply once more to create it`)
}

// An object that is only released may be gone: its dependents continue.
func TestObjectToFreeIsGone(t *testing.T) {
	patch := diff.Patch{
		Type: types.MergePatchType,
		Data: []byte(`{"metadata":{"annotations":{"owner":null}}}`),
	}
	for _, step := range []plan.Step{{Op: plan.Update, Releases: true}, {Op: plan.Orphan}} {
		w := newWorld(&enginetest.Cluster{})
		step.Ref, step.Have, step.Patch = ref("ConfigMap/a"), w.put(thing("ConfigMap/a")), patch
		step.Want = step.Have
		if _, err := w.Delete(t.Context(), cluster.Delete{Ref: step.Ref}); err != nil {
			t.Fatal(err)
		}
		steps := []plan.Step{step}
		if step.Releases {
			steps = append(steps, create("ConfigMap/b", 0))
		}
		if summary := w.run(t.Context(), t, realRun, steps...); summary.Failures() != 0 {
			t.Errorf("%s:\n%s", step.Op, strings.Join(w.lines, "\n"))
		}
		if step.Releases && w.Object(ref("ConfigMap/b")) == nil {
			t.Error("what needs the step was not created")
		}
	}
}

// A server that breaks off instead of merging an APIService is sent what client-side apply makes of
// it.
func TestServerThatCannotMerge(t *testing.T) {
	service := func(priority int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{
			Object: map[string]any{"spec": map[string]any{"versionPriority": priority}},
		}
		obj.SetGroupVersionKind(
			schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
		)
		obj.SetName("v1.example.com")
		return obj
	}
	name := object.RefOf(service(1))
	serverSide := policy()
	serverSide.ServerSide, serverSide.Manager = true, "me"
	w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{name: {{
		Status: map[string]any{
			"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
		}},
	}}})
	for _, priority := range []int64{1, 2} {
		w.Answers = map[object.Ref][]error{name: {http2.StreamError{}}}
		if priority > 1 { // the managers of the fields change before
			w.Answers[name], w.Script = []error{nil, http2.StreamError{}}, nil
		}
		summary, err := w.apply(
			t.Context(),
			serverSide,
			realRun,
			plan.Desired{Object: service(priority)},
		)
		if err != nil || summary.Failures() > 0 {
			t.Fatalf("%v %+v", err, summary)
		}
		got, _, _ := unstructured.NestedInt64(w.Object(name).Object, "spec", "versionPriority")
		if got != priority || w.Object(name).GetAnnotations()["last"] == "" {
			t.Errorf("the object is %v, with annotations %v", got, w.Object(name).GetAnnotations())
		}
	}
}

// A manifest with a UID or a resource version that is not that of the object is refused at once,
// with the field, in plans and runs: it can never be applied, and nobody else changes the object.
func TestOwnPreconditionIsRefused(t *testing.T) {
	for _, tc := range []struct {
		exists bool
		field  string
	}{{false, "uid"}, {true, "uid"}, {true, "resourceVersion"}} {
		for _, dryRun := range []engine.DryRun{engine.DryRunNone, engine.DryRunServer} {
			w := newWorld(&enginetest.Cluster{})
			if tc.exists {
				w.Put(thing("ConfigMap/a", "owner=me"))
			}
			rules := policy()
			rules.ServerSide, rules.Manager = true, "me"
			obj := sized("red", "big")
			obj.Object["metadata"].(map[string]any)[tc.field] = "12"
			var failure error
			w.hear = func(e event.Event) {
				if e.Kind == event.Acted {
					failure = e.Err
				}
			}
			if _, err := w.apply(t.Context(), rules, engine.Options{DryRun: dryRun},
				want(obj)...); err != nil {
				t.Fatal(err)
			}
			if failure == nil || !strings.Contains(failure.Error(), "metadata."+tc.field) ||
				strings.Contains(failure.Error(), "attempts") || len(w.Sent) > 1 {
				t.Errorf("%+v %q: error %v after %d requests", tc, dryRun, failure, len(w.Sent))
			}
		}
	}
}
