package view

import (
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// StepState is the state of one step.
type StepState struct {
	Acted   event.Outcome // empty until the write ended
	Op      plan.Op       // the actual operation
	Settled event.Outcome // empty until the step ended
	Waited  bool          // it was not ready when its write ended, or waits for a deletion
}

// WriteCounts counts the steps that apply, or those that remove.
type WriteCounts struct {
	Total           int             // steps in the plan
	Acted           int             // steps whose write ended
	Done            map[plan.Op]int // successful writes by operation
	Skipped, Failed int
}

// Complete reports whether all writes ended.
func (p WriteCounts) Complete() bool { return p.Acted == p.Total }

// WaitCounts counts the outcomes of the steps.
type WaitCounts struct {
	Succeeded, Skipped, Failed, TimedOut, Interrupted int
	Unawaited                                         int // successful writes that nothing waits for
}

// Attempted returns the number of steps that ended without an interrupt.
func (w WaitCounts) Attempted() int {
	return w.Succeeded + w.Unawaited + w.Skipped + w.Failed + w.TimedOut
}

// RunState collects the events of a run into states and counters. One goroutine may use it.
type RunState struct {
	Plan    *plan.Plan
	Rows    []StepState
	Applies WriteCounts
	Removes WriteCounts
	Waits   WaitCounts
}

// NewRunState returns the state of a run before its first event.
func NewRunState(p *plan.Plan) *RunState {
	b := &RunState{Plan: p, Rows: make([]StepState, len(p.Steps))}
	b.Applies.Done, b.Removes.Done = map[plan.Op]int{}, map[plan.Op]int{}
	for _, step := range p.Steps {
		if part := b.writes(step.Op); part != nil {
			part.Total++
		}
	}
	return b
}

// writes returns the counters of an operation, nil for barriers and guards. Objects that others
// create or delete count like those of the run.
func (b *RunState) writes(op plan.Op) *WriteCounts {
	switch {
	case op.IsDesired():
		return &b.Applies
	case op.Removes() || op == plan.AwaitDeleted:
		return &b.Removes
	default:
		return nil
	}
}

// Add applies one event.
func (b *RunState) Add(e event.Event) {
	row := &b.Rows[e.Step]
	switch e.Kind {
	case event.Acted:
		row.Acted, row.Op = e.Outcome, e.Op
		b.writes(b.Plan.Steps[e.Step].Op).add(e)
	case event.Waiting:
		row.Waited = true
		if e.Relapsed {
			row.Settled = ""
			b.Waits.Succeeded--
		}
	case event.Retried:
		row.Waited = row.Waited || e.Status.State == ready.Terminating
	case event.Settled:
		row.Settled = e.Outcome
		b.Waits.add(row, b.Plan.Steps[e.Step].Wait)
	}
}

// isUnawaited reports whether an event is the end of a successful write that nothing waits for.
func (b *RunState) isUnawaited(e event.Event) bool {
	return e.Kind == event.Settled && e.Outcome == event.Succeeded && !b.Plan.Steps[e.Step].Wait
}

func (p *WriteCounts) add(e event.Event) {
	p.Acted++
	switch e.Outcome {
	case event.Succeeded:
		p.Done[e.Op]++
	case event.Skipped:
		p.Skipped++
	default:
		p.Failed++
	}
}

// add counts the outcome of a step. A step without a successful write had no wait.
func (w *WaitCounts) add(row *StepState, awaited bool) {
	switch {
	case row.Settled == event.Interrupted:
		w.Interrupted++
	case row.Acted != event.Succeeded:
		w.Skipped++
	case row.Settled == event.Succeeded && awaited:
		w.Succeeded++
	case row.Settled == event.Succeeded:
		w.Unawaited++
	case row.Settled == event.TimedOut:
		w.TimedOut++
	default:
		w.Failed++
	}
}
