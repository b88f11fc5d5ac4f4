package engine_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestDryRunsIgnoreStatuses has a controller that writes the status of an object after it was read.
// An update of which the server stores nothing is none, also if the status has changed meanwhile.
func TestDryRunsIgnoreStatuses(t *testing.T) {
	for name, serverSide := range map[string]bool{"client-side": false, "server-side": true} {
		for _, dryRun := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
			t.Run(name+" "+string(dryRun), func(t *testing.T) {
				w, some := newWorld(&enginetest.Cluster{}), policy()
				some.ServerSide, some.Manager, some.Force = serverSide, "me", true
				live, next := thing("Widget/busy", "owner=me"), thing("Widget/busy")
				live.Object["spec"], next.Object["spec"] = "x", "y"
				live.Object["status"] = map[string]any{"ready": false}
				w.Put(live)
				later := w.Object(ref("Widget/busy")).DeepCopy()
				later.Object["status"] = map[string]any{"ready": true}
				later.SetResourceVersion("99")
				w.Stores = func(obj *unstructured.Unstructured) { obj.Object = later.DeepCopy().Object }
				acted := 0
				w.hear = func(e event.Event) {
					if e.Kind != event.Acted {
						return
					}
					if acted++; e.Op != "unchanged" {
						t.Errorf("%s, although only a controller has changed it", e.Op)
					}
				}
				options := engine.Options{DryRun: dryRun}
				_, err := w.apply(t.Context(), some, options, want(next)...)
				if err != nil || acted != 1 {
					t.Errorf("%d steps: %v", acted, err)
				}
			})
		}
	}
}
