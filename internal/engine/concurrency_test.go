package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Over a slow line more is under way at once than in the beginning, and a server that says that it
// is too much is asked for less; unless somebody has said how much it is to be. What was refused
// waits as long as the server wants, and holds its place meanwhile.
func TestPace(t *testing.T) {
	run := func(t *testing.T, c *enginetest.Cluster, number, concurrency int) (took time.Duration) {
		var steps []plan.Step
		for i := range number {
			steps = append(steps, create(fmt.Sprintf("ConfigMap/c%d", i)))
		}
		began := time.Now()
		if summary := newWorld(c).run(t.Context(), t, engine.Options{DryRun: engine.DryRunNone,
			Concurrency: concurrency},
			steps...); summary.Failures() > 0 {
			t.Errorf("%+v", summary)
		}
		return time.Since(began)
	}
	each(t, "slow line", func(t *testing.T) {
		paced, fixed := &enginetest.Cluster{
			Takes: 100 * time.Millisecond,
		}, &enginetest.Cluster{
			Takes: 100 * time.Millisecond,
		}
		if took, other := run(t, paced, 3000, 0), run(t, fixed, 3000,
			engine.DefaultConcurrency); took > other/2 ||
			paced.Most() != 128 ||
			fixed.Most() != 32 {
			t.Errorf("%s with up to %d at once, %s with up to %d", took, paced.Most(), other, fixed.Most())
		}
	})
	each(t, "too much", func(t *testing.T) {
		paced := &enginetest.Cluster{Takes: 100 * time.Millisecond, TooMuch: 10}
		fixed := &enginetest.Cluster{Takes: 100 * time.Millisecond, TooMuch: 10}
		if took, other := run(t, paced, 1000, 0), run(t, fixed, 1000,
			engine.DefaultConcurrency); took > other*3/2 ||
			paced.Throttled() > fixed.Throttled()/4 {
			t.Errorf("%s with %d refused, %s with %d", took, paced.Throttled(), other, fixed.Throttled())
		}
	})
}
