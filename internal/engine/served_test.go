package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// An error of the server is no sign that it serves a changed definition.
func TestErrorDoesNotMeanServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("the server is overloaded")
		w := newWorld(&enginetest.Cluster{
			Publishes: 2 * time.Second, Unpublished: []error{nil, failed, failed},
		})
		w.Put(boats("length"))
		written, early := time.Now(), 0
		_, lines := w.applyPruned(t, false, pruning{
			w.Cluster, 2 * time.Second, true, &written, &early,
		}, both(boats("length", "sail"))...)
		if early > 0 {
			t.Errorf("%d boats were sent before their definition was served:\n%s", early, lines)
		}
	})
}

// What follows a changed webhook or API service is sent some time after it: a server takes it up
// after its answer, and does not say when. What nothing follows is not waited for.
func TestWebhooksAreTakenUp(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
		{Group: "example.com", Version: "v1", Kind: "Gadget"},
	} {
		for _, follows := range []bool{true, false} {
			t.Run(fmt.Sprint(gvk.Kind, " ", follows), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { takeUp(t, gvk, follows) })
			})
		}
	}
}

// takeUp changes an object of a kind and creates another one, which may follow it.
func takeUp(t *testing.T, gvk schema.GroupVersionKind, follows bool) {
	t.Helper()
	w := newWorld(&enginetest.Cluster{})
	// its controller has reported on it, so that nothing else makes the run wait
	first := reported(gvk, map[string]any{"type": "Ready", "status": "True"},
		map[string]any{"type": "Available", "status": "True"})
	w.Put(first)
	took := w.startOfNext(t, first, follows)
	waits := follows && gvk.Group != "example.com"
	if waits && took < 2*time.Second || !waits && took > 0 {
		t.Errorf("the second object was written after %s", took)
	}
}

// An API service that becomes available after its write is taken up: the server has reached the
// service that it names now. The condition of before says nothing, nor does that of the same
// second.
func TestAvailableAPIServiceIsTakenUp(t *testing.T) {
	available := func(status string, at time.Time) map[string]any {
		return map[string]any{"type": "Available", "status": status,
			"lastTransitionTime": at.UTC().Format(time.RFC3339)}
	}
	for _, tc := range []struct {
		name    string
		exists  bool          // it is updated
		after   time.Duration // when it becomes available, after its write
		since   time.Duration // and since when it says that it is, after its write
		follows time.Duration // when the next object is written
	}{
		{"created", false, 300 * time.Millisecond, 0, 300 * time.Millisecond},
		{"updated", true, 1500 * time.Millisecond, time.Second, 1500 * time.Millisecond},
		{"updated and available at once", true, 300 * time.Millisecond, 0, 2 * time.Second},
		{"updated and available as before", true, 300 * time.Millisecond, -time.Minute, 2 * time.Second},
		{"available late", true, 3 * time.Second, 3 * time.Second, 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(&enginetest.Cluster{}), time.Now()
				first := reported(schema.GroupVersionKind{
					Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService",
				}, available("False", began.Add(-time.Minute)))
				if tc.exists {
					w.Put(first)
				}
				w.Script = map[object.Ref][]enginetest.Change{object.RefOf(first): {{
					After:  tc.after,
					Status: map[string]any{"conditions": []any{available("True", began.Add(tc.since))}},
				}}}
				if took := w.startOfNext(t, first, true); took != tc.follows {
					t.Errorf("the second object was written after %s", took)
				}
			})
		})
	}
}

// reported returns an object on which its controller has reported.
func reported(gvk schema.GroupVersionKind, conditions ...any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetName("first")
	obj.SetAnnotations(map[string]string{"owner": "me"})
	obj.Object["status"] = map[string]any{"conditions": conditions}
	return obj
}

// startOfNext writes an object, and creates another one, which may follow it. It returns when the
// other one was written.
func (w *world) startOfNext(
	t *testing.T, first *unstructured.Unstructured, follows bool,
) time.Duration {
	t.Helper()
	next := first.DeepCopy()
	delete(next.Object, "status")
	if next.GetKind() == "MutatingWebhookConfiguration" {
		next.Object["webhooks"] = []any{map[string]any{"name": "second.example.com"}}
	} else {
		next.Object["spec"] = map[string]any{"version": "v2"}
	}
	second := boat("length")
	second.SetAnnotations(map[string]string{"owner": "me"})
	steps := []plan.Step{
		{Ref: object.RefOf(next), Op: plan.Create, Want: next, Wait: true},
		{Ref: object.RefOf(second), Op: plan.Create, Want: second},
	}
	if have := w.Object(object.RefOf(first)); have != nil {
		steps[0].Op, steps[0].Have, steps[0].FullReplace = plan.Update, have, true
	}
	if follows {
		steps[1].Needs = []int{0}
	}
	began, took := time.Now(), time.Duration(-1)
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	_, err := e.Apply(t.Context(), &plan.Plan{Steps: steps, Manager: "me"}, realRun,
		func(ev event.Event) {
			if ev.Kind == event.Acted && ev.Step == 1 {
				took = time.Since(began)
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	return took
}
