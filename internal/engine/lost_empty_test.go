package engine_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestLostEmptyInDryRuns has a server that removes a map with its content: a real run applies it
// once more, so that a dry run does not say that it is not stored.
func TestLostEmptyInDryRuns(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	live, wanted := boat("length"), boat("length")
	live.SetAnnotations(map[string]string{"owner": "me"})
	live.Object["sail"], wanted.Object["sail"] = map[string]any{"b": int64(1)}, map[string]any{}
	w.Put(live)
	server := policy()
	server.ServerSide, server.Manager = true, "me"
	w.Stores = func(obj *unstructured.Unstructured) { delete(obj.Object, "sail") }
	e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
	p, err := e.Plan(t.Context(), engine.Request{Desired: want(wanted), Policy: server})
	if err != nil {
		t.Fatal(err)
	}
	acted := false
	_, err = e.Apply(t.Context(), p, engine.Options{DryRun: engine.DryRunServer},
		func(ev event.Event) {
			if ev.Kind != event.Acted {
				return
			}
			acted = true
			if ev.Op != "update" || len(ev.Unstored) > 0 || ev.DryRunObject.Object["sail"] == nil {
				t.Errorf("%s, not stored: %v, %v", ev.Op, ev.Unstored, ev.DryRunObject)
			}
		})
	if err != nil || !acted {
		t.Errorf("acted %t: %v", acted, err)
	}
}

// TestLostEmptyAreNotSet has a server that refuses the second apply: the first one was stored.
func TestLostEmptyAreNotSet(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	live, wanted := boat("length"), boat("length")
	live.SetAnnotations(map[string]string{"owner": "me"})
	live.Object["sail"], wanted.Object["sail"] = map[string]any{"b": int64(1)}, map[string]any{}
	w.Put(live)
	server := policy()
	server.ServerSide, server.Manager = true, "me"
	w.Stores = func(obj *unstructured.Unstructured) { delete(obj.Object, "sail") }
	w.Answers = map[object.Ref][]error{object.RefOf(live): {nil, errors.New("no")}}
	if _, err := w.apply(t.Context(), server, realRun, want(wanted)...); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Join(w.lines, "\n"); !strings.Contains(lines, "failed: it was applied, but") {
		t.Error(lines)
	}
}

// TestMigrationKeepsMaps has a server that removes a map with its content when the fields of
// client-side apply have moved: the map must be there after the run.
func TestMigrationKeepsMaps(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	live, wanted := boat("length"), boat("length")
	live.SetAnnotations(map[string]string{"owner": "me", "last": "{}"})
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "old", Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:last":{},"f:owner":{}}},` +
			`"f:sail":{"f:b":{}}}`),
	}})
	live.Object["sail"], wanted.Object["sail"] = map[string]any{"b": int64(1)}, map[string]any{}
	w.Put(live)
	server := policy()
	server.ServerSide, server.Manager = true, "me"
	applies := 0
	w.Stores = func(obj *unstructured.Unstructured) {
		switch applies++; applies {
		case 1:
			obj.Object["sail"] = map[string]any{"b": int64(1)} // of the manager of client-side apply
			obj.SetManagedFields(live.GetManagedFields())
			obj.SetAnnotations(live.GetAnnotations())
		case 3: // after the patch of the managed fields
			delete(obj.Object, "sail")
		}
	}
	if _, err := w.apply(t.Context(), server, realRun, want(wanted)...); err != nil {
		t.Fatal(err)
	}
	stored := w.Object(object.RefOf(live))
	if _, has := stored.Object["sail"]; !has || applies < 3 {
		t.Errorf("after %d writes: %v\n%v", applies, stored.Object, w.lines)
	}
}
