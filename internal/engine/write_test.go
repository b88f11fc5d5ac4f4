package engine_test

import (
	"errors"
	"testing"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("the object has been modified"))

// sized is a ConfigMap with two fields.
func sized(colour, size string) *unstructured.Unstructured {
	obj := thing("ConfigMap/a")
	obj.Object["data"] = map[string]any{"colour": colour, "size": size}
	return obj
}

// Where the server gives up because others keep changing the object, what it is now is merged: what somebody else changed of
// ours is set again, although it was as wanted when the plan was made.
func TestConflictIsMergedAnew(t *testing.T) {
	for conflicts, outcome := range map[int]event.Outcome{4: event.Succeeded, 5: event.Failed} {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), engine.Options{}, want(sized("red", "small"))...); err != nil {
			t.Fatal(err)
		}
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		p, err := e.Plan(t.Context(), engine.Request{Desired: want(sized("red", "big")), Policy: policy()})
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
		if _, err := e.Apply(t.Context(), p, engine.Options{}, func(ev event.Event) { last = ev }); err != nil {
			t.Fatal(err)
		}
		colour, _, _ := unstructured.NestedString(w.Object(ref("ConfigMap/a")).Object, "data", "colour")
		theirs, _, _ := unstructured.NestedString(w.Object(ref("ConfigMap/a")).Object, "data", "theirs")
		if last.Outcome != outcome || theirs != "kept" || (colour == "red") != (outcome == event.Succeeded) {
			t.Errorf("after %d conflicts: %s, colour %s, theirs %s", conflicts, last.Outcome, colour, theirs)
		}
	}
}

// An object that was replaced by another of its name is left alone.
func TestConflictWithAnotherObject(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	if _, err := w.apply(t.Context(), policy(), engine.Options{}, want(sized("red", "small"))...); err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	p, err := e.Plan(t.Context(), engine.Request{Desired: want(sized("red", "big")), Policy: policy()})
	if err != nil {
		t.Fatal(err)
	}
	other := sized("green", "other")
	other.SetUID("another")
	w.Put(other)
	w.Answers = map[object.Ref][]error{ref("ConfigMap/a"): {conflict}}
	var last event.Event
	if _, err := e.Apply(t.Context(), p, engine.Options{}, func(ev event.Event) { last = ev }); err != nil {
		t.Fatal(err)
	}
	if last.Outcome != event.Failed || last.Err.Error() != "n/configmap/a was replaced by another object meanwhile" {
		t.Errorf("outcome %s: %v", last.Outcome, last.Err)
	}
}

// A server that breaks off instead of merging an APIService is sent what client-side apply makes of it.
func TestServerThatCannotMerge(t *testing.T) {
	service := func(priority int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"versionPriority": priority}}}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		obj.SetName("v1.example.com")
		return obj
	}
	name := object.RefOf(service(1))
	serverSide := policy()
	serverSide.ServerSide, serverSide.Manager = true, "me"
	w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{name: {{
		Status: map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}},
	}}})
	for _, priority := range []int64{1, 2} {
		w.Answers = map[object.Ref][]error{name: {http2.StreamError{}}}
		summary, err := w.apply(t.Context(), serverSide, engine.Options{}, plan.Desired{Object: service(priority)})
		if err != nil || summary.Bad() > 0 {
			t.Fatalf("%v %+v", err, summary)
		}
		got, _, _ := unstructured.NestedInt64(w.Object(name).Object, "spec", "versionPriority")
		if got != priority || w.Object(name).GetAnnotations()["last"] == "" {
			t.Errorf("the object is %v, with annotations %v", got, w.Object(name).GetAnnotations())
		}
	}
}
