package engine_test

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// exactly carries a step of an exact plan out, in which the server merges.
func (w *world) exactly(t *testing.T, o engine.Options, step plan.Step) {
	t.Helper()
	e := &engine.Engine{Cluster: w.Cluster, Records: record.Discard{}, Rules: w.rules}
	step.ServerSide = true
	p := &plan.Plan{
		Steps:         []plan.Step{step},
		ServerSide:    true,
		Preconditions: true,
		Force:         true,
		Manager:       "me",
		Decider:       w.decider,
	}
	if _, err := e.Apply(t.Context(), p, o, func(
		ev event.Event) {
		w.lines = append(w.lines, line(ev))
	}); err != nil {
		t.Fatal(err)
	}
}

func methods(w *world) (all []cluster.Method) {
	for _, sent := range w.Sent {
		all = append(all, sent.Method)
	}
	return all
}

// managed says that a manager made all of an object by an update.
func managed(obj *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:is":{}}}}`),
	}})
	return obj
}

// What the manager wrote by updates is its own to apply from then on; what others wrote stays
// theirs.
func TestExact(t *testing.T) {
	for manager, want := range map[string][]cluster.Method{"me": {cluster.Patch, cluster.Apply},
		"other": {cluster.Apply}} {
		w := newWorld(&enginetest.Cluster{})
		step := update(w.put(managed(thing("ConfigMap/a", "is=old"), manager)), "new")
		step.FullReplace = false
		w.exactly(t, w.judging(), step)
		last := w.Sent[len(w.Sent)-1]
		if !slices.Equal(methods(w), want) || w.is("ConfigMap/a") != "new" {
			t.Errorf("managed by %s: %v, %q", manager, methods(w), w.is("ConfigMap/a"))
		}
		if last.Object.GetUID() != step.Have.GetUID() || last.Object.GetResourceVersion() == "" ||
			last.Object.GetManagedFields() != nil ||
			!last.Force {
			t.Errorf("managed by %s: sent %+v", manager, last)
		}
	}
}

// An object that is that exists is not merged into.
func TestExactCreation(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	w.put(thing("ConfigMap/a", "is=theirs"))
	o := w.judging()
	w.decider = decisions{
		replan: func(_ *plan.Step, _ *unstructured.Unstructured, refused error) (*plan.Step, error) {
			return nil, refused
		},
	}
	w.exactly(t, o, create("ConfigMap/a"))
	if w.is("ConfigMap/a") != "theirs" || !slices.Equal(methods(w), []cluster.Method{cluster.Create}) {
		t.Errorf("%v, %q, %v", methods(w), w.is("ConfigMap/a"), w.lines)
	}
}

// An object that somebody has changed is decided again; one that is gone is not created.
func TestExactConflict(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	stale := w.put(thing("ConfigMap/a", "is=old"))
	w.put(thing("ConfigMap/a", "is=theirs"))
	asked := 0
	o := w.judging()
	w.decider = decisions{
		replan: func(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step,
			error) {
			asked++
			next := *step
			next.Have = live
			return &next, nil
		},
	}
	step := update(stale, "new")
	step.FullReplace = false
	w.exactly(t, o, step)
	if asked != 1 || w.is("ConfigMap/a") != "new" {
		t.Errorf("asked %d times, %q: %v", asked, w.is("ConfigMap/a"), w.lines)
	}
	gone := apierrors.NewConflict(
		schema.GroupResource{Resource: "configmaps"},
		"b",
		errors.New("no existing object was found"),
	)
	w = newWorld(&enginetest.Cluster{Answers: map[object.Ref][]error{ref("ConfigMap/b"): {gone}}})
	step = update(thing("ConfigMap/b", "is=old"), "new")
	step.FullReplace = false
	w.exactly(t, o, step)
	if asked != 1 || len(w.Wrote) > 0 {
		t.Errorf("asked %d times, wrote %v: %v", asked, w.Wrote, w.lines)
	}
}
