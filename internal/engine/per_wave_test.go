package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Together, what was written first has as long as what was written last.
func TestTimeTogetherBeginsWithTheLatestWrite(t *testing.T) {
	for _, tc := range []struct {
		together bool
		want     string
		took     time.Duration
	}{
		{false, "settled create deployment.apps/a timed out (InProgress)", 11 * time.Second},
		{true, "settled create deployment.apps/a succeeded (Current)", 11 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(
				&enginetest.Cluster{Takes: 2 * time.Second, Script: map[object.Ref][]enginetest.Change{
					ref("Deployment/a"): {{After: 6 * time.Second, Status: available}},
				}},
			)
			began := time.Now()
			o := engine.Options{
				DryRun:      engine.DryRunNone,
				Limits:      engine.Limits{Apply: limit.After(5 * time.Second), PerWave: tc.together},
				Concurrency: 1,
			}
			if _, err := w.apply(t.Context(), policy(), o,
				want(thing("Deployment/a"), thing("Deployment/b"), thing("Deployment/c"))...); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began).Truncate(time.Second); took != tc.took {
				t.Errorf("together=%v: the run took %s, want %s", tc.together, took, tc.took)
			}
			if !slices.Contains(w.lines, tc.want) {
				t.Errorf("together=%v: the run has no %q:\n%q", tc.together, tc.want, w.lines)
			}
		})
	}
}
