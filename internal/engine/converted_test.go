package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestConvertedInDryRuns has a server that stores objects in a version without the field sail,
// which its answers to dry runs have all the same: nothing would change, and the field is noted as
// not stored. Without a sign that it was sent before, it would change.
func TestConvertedInDryRuns(t *testing.T) {
	for _, sent := range []bool{false, true} {
		for _, serverSide := range []bool{false, true} {
			for _, dry := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
				w := newWorld(&enginetest.Cluster{})
				live, wanted := boat("length"), boat("length")
				live.SetAnnotations(map[string]string{"owner": "me"})
				wanted.Object["sail"] = "red"
				entry := metav1.ManagedFieldsEntry{
					Manager: "me", Operation: metav1.ManagedFieldsOperationUpdate,
					APIVersion: "example.com/v1", FieldsType: "FieldsV1",
					FieldsV1: metav1.NewFieldsV1(`{"f:length":{}}`),
				}
				if serverSide {
					entry.Operation = metav1.ManagedFieldsOperationApply
				}
				if sent {
					entry.FieldsV1 = metav1.NewFieldsV1(`{"f:length":{},"f:sail":{}}`)
				}
				live.SetManagedFields([]metav1.ManagedFieldsEntry{entry})
				w.Put(live)
				some := policy()
				some.ServerSide, some.Manager, some.LastApplied = serverSide, "me", ""
				op, unstored := plan.Op(""), 0
				w.hear = func(e event.Event) {
					if e.Kind == event.Acted {
						op, unstored = e.Op, len(e.Unstored)
					}
				}
				_, err := w.apply(t.Context(), some, engine.Options{DryRun: dry}, want(wanted)...)
				same := op == plan.Unchanged && unstored == 1
				if err != nil || same != sent {
					t.Errorf("sent %t, server-side %t, %s: %s, %d not stored, %v", sent, serverSide, dry,
						op, unstored, err)
				}
			}
		}
	}
}
