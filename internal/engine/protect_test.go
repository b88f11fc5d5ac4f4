package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// definition returns the definition of the kind Widget.
func definition() *unstructured.Unstructured {
	obj := thing("CustomResourceDefinition/widgets.example.com")
	obj.SetAPIVersion("apiextensions.k8s.io/v1")
	obj.Object["spec"] = map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Widget"},
	}
	obj.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Established", "status": "True"},
	}}
	return obj
}

// A controller is deleted once the custom resources are gone, and stays if they do.
func TestControllerGoesAfterCustomResources(t *testing.T) {
	for _, tc := range []struct {
		lingers time.Duration
		want    string
	}{
		{time.Second, `
			acted delete widget.example.com/w succeeded
			waiting delete widget.example.com/w (Terminating)
			settled delete widget.example.com/w succeeded (NotFound)
			acted delete configmap/operator succeeded
			settled delete configmap/operator succeeded (NotFound)`},
		{time.Hour, `
			acted delete widget.example.com/w succeeded
			waiting delete widget.example.com/w (Terminating)
			observed delete widget.example.com/w (Current)
			settled delete widget.example.com/w timed out (Current)
			acted delete configmap/operator skipped: custom resources still exist whose controller ` +
			`may need it
			settled delete configmap/operator skipped`},
	} {
		synctest.Test(t, func(t *testing.T) {
			crd := definition()
			established, _ := crd.Object["status"].(map[string]any)
			w := newWorld(&enginetest.Cluster{
				Lingers: map[object.Ref]time.Duration{ref("Widget/w"): tc.lingers},
				Script: map[object.Ref][]enginetest.Change{
					object.RefOf(crd): {{After: time.Millisecond, Status: established}},
				},
			})
			if _, err := w.apply(t.Context(), policy(), realRun,
				want(crd, thing("Widget/w"), thing("ConfigMap/operator"))...); err != nil {
				t.Fatal(err)
			}
			w.lines = nil
			if _, err := w.apply(t.Context(), policy(), engine.Options{
				DryRun: engine.DryRunNone,
				Limits: engine.Limits{Delete: limit.After(time.Minute)}}, want(crd)...); err != nil {
				t.Fatal(err)
			}
			w.lines = w.lines[2:] // of the definition
			w.expect(t, tc.want)
		})
	}
}

// An object that the dialect protects is not deleted.
func TestProtectedObjectIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("ConfigMap/a"), thing("ConfigMap/b"), thing("ConfigMap/c"))...); err != nil {
			t.Fatal(err)
		}
		w.lines = nil
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
		p, err := e.Plan(t.Context(), engine.Request{
			Desired: want(thing("ConfigMap/c")), Policy: policy(),
			Protect: func(
				_ context.Context, deleted []object.Ref,
			) (map[object.Ref]plan.Protection, error) {
				if len(deleted) != 2 {
					t.Errorf("asked for %v", deleted)
				}
				return map[object.Ref]plan.Protection{
					ref("ConfigMap/a"): {Reason: "it is needed"},
					ref("ConfigMap/b"): {Reason: "it stays", Release: true},
				}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.overwrite(thing("ConfigMap/b", "owner=me", "new=yes"))
		if _, err := e.Apply(t.Context(), p, realRun,
			func(ev event.Event) { w.lines = append(w.lines, line(ev)) }); err != nil {
			t.Fatal(err)
		}
		w.lines = w.lines[2:] // of c
		w.expect(t, `
			acted keep configmap/a skipped: it is needed
			settled keep configmap/a skipped
			acted orphan configmap/b skipped: it stays
			settled orphan configmap/b skipped`)
		if w.Object(ref("ConfigMap/b")).GetAnnotations()["owner"] != "" {
			t.Error("the released object still has its owner")
		}
		w.expectRecord(t, "configmap/a Delete Skipped Skipped",
			"configmap/c Apply Succeeded Succeeded")
	})
}
