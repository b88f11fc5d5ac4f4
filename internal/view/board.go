package view

import (
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Row is what is known of one step.
type Row struct {
	Acted   event.Outcome // empty until its write is over
	Op      plan.Op       // what was really done
	Settled event.Outcome // empty until its end
}

// Part counts the steps that either apply or remove.
type Part struct {
	Total           int             // steps in the plan
	Acted           int             // steps whose write is over
	Done            map[plan.Op]int // writes that succeeded, by what was done
	Skipped, Failed int
}

// Complete reports whether every step of the part has acted.
func (p Part) Complete() bool { return p.Acted == p.Total }

// Waits counts how the steps settled.
type Waits struct{ Succeeded, Skipped, Failed, TimedOut, Interrupted int }

// Attempted is the number of steps of which is known how they settled.
func (w Waits) Attempted() int { return w.Succeeded + w.Skipped + w.Failed + w.TimedOut }

// Board folds the events of a run into rows and counters. It belongs to one goroutine.
type Board struct {
	Plan    *plan.Plan
	Rows    []Row
	Applies Part
	Removes Part
	Waits   Waits
}

// NewBoard gives the board of a plan before anything has happened.
func NewBoard(p *plan.Plan) *Board {
	b := &Board{Plan: p, Rows: make([]Row, len(p.Steps))}
	b.Applies.Done, b.Removes.Done = map[plan.Op]int{}, map[plan.Op]int{}
	for _, step := range p.Steps {
		if part := b.part(step.Op); part != nil {
			part.Total++
		}
	}
	return b
}

// part finds the counters of an operation; barriers and guards have none.
func (b *Board) part(op plan.Op) *Part {
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
func (b *Board) Add(e event.Event) {
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

func (p *Part) add(e event.Event) {
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
func (w *Waits) add(row *Row) {
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
