package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// An object that somebody is deleting is said to be that, by a dry run as by the run.
func TestBeingDeleted(t *testing.T) {
	for _, dryRun := range []engine.DryRun{engine.DryRunNone, engine.DryRunClient,
		engine.DryRunServer} {
		synctest.Test(t, func(t *testing.T) {
			held := thing("ConfigMap/held", "owner=me")
			now := metav1.Now()
			held.SetDeletionTimestamp(&now)
			w := newWorld(&enginetest.Cluster{})
			w.Put(held)
			var printed []string
			w.hear = func(e event.Event) {
				if e.Kind == event.Acted {
					printed = append(printed, e.Reason)
				}
			}
			o := engine.Options{DryRun: dryRun, Limits: engine.Limits{Apply: limit.After(time.Minute)}}
			if _, err := w.apply(t.Context(), policy(), o, want(thing("ConfigMap/held"))...); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(printed, []string{"it is being deleted"}) {
				t.Errorf("dry run %q printed %q", dryRun, printed)
			}
		})
	}
}
