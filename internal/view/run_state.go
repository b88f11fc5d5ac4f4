package view

import (
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// StepState is what is known of one step.
type StepState struct {
	Acted   event.Outcome // empty until its write is over
	Op      plan.Op       // what was really done
	Settled event.Outcome // empty until its end
}

// WriteCounts counts the steps that either apply or remove.
type WriteCounts struct {
	Total           int             // steps in the plan
	Acted           int             // steps whose write is over
	Done            map[plan.Op]int // writes that succeeded, by what was done
	Skipped, Failed int
}

// Complete reports whether every step of the part has acted.
func (p WriteCounts) Complete() bool { return p.Acted == p.Total }

// WaitCounts counts how the steps settled.
type WaitCounts struct{ Succeeded, Skipped, Failed, TimedOut, Interrupted int }

// Attempted is the number of steps of which is known how they settled.
func (w WaitCounts) Attempted() int { return w.Succeeded + w.Skipped + w.Failed + w.TimedOut }

// RunState folds the events of a run into rows and counters. It belongs to one goroutine.
type RunState struct {
	Plan    *plan.Plan
	Rows    []StepState
	Applies WriteCounts
	Removes WriteCounts
	Waits   WaitCounts
}

// NewRunState gives the board of a plan before anything has happened.
func NewRunState(p *plan.Plan) *RunState {
	b := &RunState{Plan: p, Rows: make([]StepState, len(p.Steps))}
	b.Applies.Done, b.Removes.Done = map[plan.Op]int{}, map[plan.Op]int{}
	for _, step := range p.Steps {
		if part := b.part(step.Op); part != nil {
			part.Total++
		}
	}
	return b
}

// part finds the counters of an operation; barriers and guards have none.
func (b *RunState) part(op plan.Op) *WriteCounts {
	switch {
	case op.Applies():
		return &b.Applies
	case op.Removes():
		return &b.Removes
	default:
		return nil
	}
}

// Add folds one event in.
func (b *RunState) Add(e event.Event) {
	row := &b.Rows[e.Step]
	switch e.Kind {
	case event.Acted:
		row.Acted, row.Op = e.Outcome, e.Op
		b.part(b.Plan.Steps[e.Step].Op).add(e)
	case event.Settled:
		row.Settled = e.Outcome
		b.Waits.add(row)
	}
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

// add counts a settled step. One that was never written was not waited for either.
func (w *WaitCounts) add(row *StepState) {
	switch {
	case row.Settled == event.Interrupted:
		w.Interrupted++
	case row.Acted != event.Succeeded:
		w.Skipped++
	case row.Settled == event.Succeeded:
		w.Succeeded++
	case row.Settled == event.TimedOut:
		w.TimedOut++
	default:
		w.Failed++
	}
}
