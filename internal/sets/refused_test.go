package sets

import (
	"context"
	"errors"
	"testing"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// realRun is the options of a run that is no dry run, with the defaults.
var realRun = engine.Options{DryRun: engine.DryRunNone}

// emitter is the part of an operation whose run emits events, and has a history.
type emitter struct {
	formatted
	runner
	events []event.Event
	err    error // of the run
}

var historySet = history.Set{Namespace: "shop", Name: "web", ID: "1"}

func (emitter) history() history.Set { return historySet }

func (emitter) finish(_ context.Context, _ engine.DryRun, err error) error { return err }

func (emitter) continueHistory(
	context.Context, func(context.Context, bool) (string, error),
) error {
	return nil
}

func (emitter) UnknownGroups() map[object.Ref][]string { return nil }

func (e emitter) Run(
	ctx context.Context, options engine.Options, sink event.Sink,
) (summary event.Summary, err error) {
	for _, e := range e.events {
		summary.Add(e)
		sink(e)
	}
	if options.BeforeForget != nil {
		try := func(context.Context) error { return nil }
		return summary, errors.Join(e.err, options.BeforeForget(ctx, try))
	}
	return summary, e.err
}

// emitting returns an operation whose run emits events.
func emitting(p *plan.Plan, events ...event.Event) *Operation {
	part := emitter{events: events}
	return &Operation{Plan: p, format: part, work: part}
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
		op := emitting(&plan.Plan{Destroys: destroys}, events...)
		summary, err := op.Run(t.Context(), realRun, func(event.Event) { passed++ })
		if err != nil || summary.Refused != want || passed != len(events) {
			t.Errorf("destroys %v: refused %d, passed %d, %v", destroys, summary.Refused, passed, err)
		}
	}
}
