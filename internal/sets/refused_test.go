package sets

import (
	"context"
	"testing"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// realRun is the options of a run that is no dry run, with the defaults.
var realRun = engine.Options{DryRun: engine.DryRunNone}

// emitter is an operation whose run emits events.
type emitter struct {
	destroys bool
	events   []event.Event
}

func (o emitter) Plan() *plan.Plan { return &plan.Plan{Destroys: o.destroys} }

func (o emitter) Run(
	_ context.Context, _ engine.Options, sink event.Sink,
) (event.Summary, error) {
	for _, e := range o.events {
		sink(e)
	}
	return event.Summary{}, nil
}

// Objects of others that are not applied or not destroyed count as refused; those that are not
// pruned do not.
func TestCountRefused(t *testing.T) {
	skipped := func(op plan.Op, code plan.ReasonCode) event.Event {
		return event.Event{Kind: event.Acted, Op: op, Outcome: event.Skipped, ReasonCode: code}
	}
	events := []event.Event{
		skipped(plan.Skip, plan.ReasonForeign), skipped(plan.Skip, plan.ReasonUnowned),
		skipped(plan.Skip, plan.ReasonCreateOnly), skipped(plan.Orphan, plan.ReasonForeign),
		skipped(plan.Orphan, plan.ReasonRetained), skipped(plan.Keep, plan.ReasonUnowned),
		{Kind: event.Settled, Op: plan.Skip, Outcome: event.Skipped},
	}
	for destroys, want := range map[bool]int{false: 2, true: 4} {
		passed := 0
		summary, err := countRefused(t.Context(), emitter{destroys, events}, realRun,
			func(event.Event) { passed++ })
		if err != nil || summary.Refused != want || passed != len(events) {
			t.Errorf("destroys %v: refused %d, passed %d, %v", destroys, summary.Refused, passed, err)
		}
	}
}
