package live_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/live"
	"github.com/muster-deploy/muster/internal/show/view"
)

// BenchmarkWaiters draws a run of 2,000 objects: half of them wait, through a barrier, for others.
func BenchmarkWaiters(b *testing.B) {
	p := &plan.Plan{}
	add := func(kind string, i int, needs []int) {
		p.Steps = append(p.Steps, plan.Step{Op: plan.Create, Needs: needs,
			Ref: object.Ref{Kind: kind, Namespace: "shop", Name: fmt.Sprintf("object-%04d", i)}})
	}
	barrier := plan.Step{Op: plan.Barrier}
	for i := range 1000 {
		barrier.After = append(barrier.After, i)
		add("ConfigMap", i, nil)
	}
	p.Steps = append(p.Steps, barrier)
	for i := range 1000 {
		add("Pod", i, []int{1000})
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := live.NewRun(p, live.Options{
		Title: "apply", Now: func() time.Time { return now }, Reason: view.PlainReason,
	})
	for i, k := range []fullscreen.Key{fullscreen.Home, fullscreen.End} {
		b.Run([]string{"first", "last"}[i], func(b *testing.B) {
			run.Key(k)
			b.ReportAllocs()
			for b.Loop() {
				run.Frame(120, 40)
			}
		})
	}
}
