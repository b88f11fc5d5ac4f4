package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestDryRunsOfOwnUpdates plans an object of which the manager owns a field by an update, as after
// a fix: an apply that only makes it the applier of the field changes nothing. One that makes it
// the owner of another manager's field is an update.
func TestDryRunsOfOwnUpdates(t *testing.T) {
	for owner, op := range map[string]string{"me": "unchanged", "other": "update"} {
		for _, dryRun := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
			t.Run(owner+" "+string(dryRun), func(t *testing.T) {
				w, some := newWorld(&enginetest.Cluster{}), policy()
				some.ServerSide, some.Manager = true, "me"
				mark, value := `{"f:metadata":{"f:annotations":{"f:owner":{}}}`, `"f:data":{"f:value":{}}`
				live := given("fixed", "x")
				live.SetAnnotations(map[string]string{"owner": "me"})
				live.SetManagedFields([]metav1.ManagedFieldsEntry{
					owned("me", metav1.ManagedFieldsOperationApply, mark+"}"),
					owned(owner, metav1.ManagedFieldsOperationUpdate, "{"+value+"}"),
				})
				w.Put(live)
				later := w.Object(ref("ConfigMap/fixed")).DeepCopy()
				later.SetManagedFields([]metav1.ManagedFieldsEntry{
					owned("me", metav1.ManagedFieldsOperationApply, mark+","+value+"}"),
					owned(owner, metav1.ManagedFieldsOperationUpdate, "{"+value+"}"),
				})
				w.Stores = func(obj *unstructured.Unstructured) { obj.Object = later.DeepCopy().Object }
				acted := 0
				w.hear = func(e event.Event) {
					if e.Kind != event.Acted {
						return
					}
					if acted++; string(e.Op) != op {
						t.Errorf("%s, want %s", e.Op, op)
					}
				}
				options := engine.Options{DryRun: dryRun}
				_, err := w.apply(t.Context(), some, options, want(given("fixed", "x"))...)
				if err != nil || acted != 1 {
					t.Errorf("%d steps: %v", acted, err)
				}
			})
		}
	}
}

func owned(
	manager string, operation metav1.ManagedFieldsOperationType, fields string,
) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// TestDryRunsOfFirstApplies plans a first apply of an object that the manager has updated alone: it
// makes the manager the applier of the same fields. The second one changes nothing.
func TestDryRunsOfFirstApplies(t *testing.T) {
	fields := `{"f:metadata":{"f:annotations":{"f:owner":{}}},"f:data":{"f:value":{}}}`
	for operation, op := range map[metav1.ManagedFieldsOperationType]string{
		metav1.ManagedFieldsOperationUpdate: "update",
		metav1.ManagedFieldsOperationApply:  "unchanged",
	} {
		for _, dryRun := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
			w, some := newWorld(&enginetest.Cluster{}), policy()
			some.ServerSide, some.Manager = true, "me"
			live := given("first", "x")
			live.SetAnnotations(map[string]string{"owner": "me"})
			live.SetManagedFields([]metav1.ManagedFieldsEntry{owned("me", operation, fields)})
			w.Put(live)
			later := w.Object(ref("ConfigMap/first")).DeepCopy()
			later.SetManagedFields([]metav1.ManagedFieldsEntry{
				owned("me", metav1.ManagedFieldsOperationApply, fields),
			})
			w.Stores = func(obj *unstructured.Unstructured) { obj.Object = later.DeepCopy().Object }
			got := ""
			w.hear = func(e event.Event) {
				if e.Kind == event.Acted {
					got = string(e.Op)
				}
			}
			options := engine.Options{DryRun: dryRun}
			_, err := w.apply(t.Context(), some, options, want(given("first", "x"))...)
			if err != nil || got != op {
				t.Errorf("%s, %s: %s, want %s (%v)", operation, dryRun, got, op, err)
			}
		}
	}
}
