package engine_test

import (
	"fmt"
	"testing"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Objects of a kind in a few namespaces have a watch in each of them, those in many have one.
func TestWatchesOfManyNamespaces(t *testing.T) {
	for _, tc := range []struct{ namespaces, watches int }{{8, 8}, {9, 1}} {
		each(t, fmt.Sprint(tc.namespaces), func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{}})
			var steps []plan.Step
			for i := range tc.namespaces {
				for j := range 2 {
					step := create(fmt.Sprintf("Deployment/d%d", j))
					step.Ref.Namespace = fmt.Sprintf("n%d", i)
					step.Want.SetNamespace(step.Ref.Namespace)
					w.Script[step.Ref] = []enginetest.Change{phaseAfter(i+j+1, "ready")}
					steps = append(steps, step)
				}
			}
			if summary := w.run(t.Context(), t, w.judging(), steps...); summary.Failures() > 0 {
				t.Errorf("%+v", summary)
			}
			watched := 0
			for _, refs := range w.Watched {
				watched += len(refs)
			}
			if len(w.Watched) != tc.watches || watched != len(steps) {
				t.Errorf(
					"%d watches of %d objects, want %d of %d",
					len(w.Watched),
					watched,
					tc.watches,
					len(steps),
				)
			}
		})
	}
}
