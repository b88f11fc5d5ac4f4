package muster

import (
	"cmp"
	"slices"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Result is how a run ended.
type Result struct {
	Outcome  Outcome
	Plan     *Plan
	Written  int      // objects that were created, updated or deleted
	Objects  []Object // of the set, after the run
	NotReady []NotReady
	Left     []Step     // objects that hold data, belong to others or are in use
	Unstored []Unstored // fields that were sent and that the server does not store
	Revision int        // in the history; 0 if none was written
	Warning  string     // what went wrong besides: the history could not be written
}

// Unstored are fields of an object that the server does not store, since a webhook drops them or
// their feature is off. They are no drift.
type Unstored struct {
	Object Object
	Source string   // file and document
	Fields []string // by their paths, as in spec.containers[0].image
}

// NotReady is an object that failed, was not ready in time or was not tried.
type NotReady struct {
	Object  Object
	Source  string // file and document
	Outcome Outcome
	State   State
	Err     error
	// NotRecreated is true if the run deleted the object to recreate it, and did not create it again.
	NotRecreated bool
}

// Reason returns why, in one line.
func (n NotReady) Reason() string {
	switch {
	case n.Err != nil:
		return n.Err.Error()
	case len(n.State.Causes) > 0:
		return n.State.Causes[0]
	case n.State.Message != "":
		return n.State.Message
	default:
		return string(n.Outcome)
	}
}

// collector collects what happens to the objects of a run.
type collector struct {
	plan    *plan.Plan
	sink    func(Event)
	states  []NotReady // by step
	lost    [][]string // fields that the server does not store, by step
	settled []bool
	written int
}

// newCollector returns a collector for the events of a plan.
func newCollector(p *plan.Plan, sink func(Event)) *collector {
	return &collector{
		plan: p, sink: sink, states: make([]NotReady, len(p.Steps)), settled: make([]bool, len(p.Steps)),
		lost: make([][]string, len(p.Steps)),
	}
}

// add adds an event.
func (c *collector) add(e event.Event) {
	seen, ok := newEvent(e)
	if ok && c.sink != nil {
		c.sink(seen)
	}
	if !ok || e.Step >= len(c.states) {
		return
	}
	state := &c.states[e.Step]
	switch e.Kind {
	case event.Acted:
		state.Outcome, state.Err, state.State.Message = seen.Outcome, seen.Err, e.Reason
		state.NotRecreated, c.lost[e.Step] = e.NotRecreated, e.Unstored
		if e.NotRecreated || e.Op.Writes() && e.Outcome == event.Succeeded {
			c.written++
		}
	case event.Explained:
		state.State.Causes = seen.State.Causes
	case event.Observed:
		state.State.Status, state.State.Message = seen.State.Status, seen.State.Message
	case event.Settled:
		c.settled[e.Step], state.Outcome = true, seen.Outcome
		if seen.Err != nil {
			state.Err = seen.Err
		}
		if seen.State.Status != "" {
			state.State.Status, state.State.Message = seen.State.Status, seen.State.Message
		}
	}
}

// result returns how the run ended. Objects that it deleted and did not create again come first.
func (c *collector) result(made *Plan, summary event.Summary) *Result {
	r := &Result{Outcome: Succeeded, Plan: made, Written: c.written}
	switch failures := summary.Failures(); {
	case summary.Interrupted && failures == summary.Settled[event.Interrupted]:
		r.Outcome = Interrupted
	case failures > 0 || summary.Refused > 0:
		r.Outcome = Failed
	}
	for i := range c.plan.Steps {
		step := &c.plan.Steps[i]
		if !step.Op.IsObject() {
			continue
		}
		unfinished := !c.settled[i] || c.states[i].Outcome != Succeeded
		if state := c.states[i]; r.Outcome != Succeeded && unfinished {
			state.Object, state.Source = Object(step.Ref), step.Source
			if !c.settled[i] {
				state.Outcome = Interrupted
			}
			r.NotReady = append(r.NotReady, state)
		}
		if fields := c.lost[i]; len(fields) > 0 {
			r.Unstored = append(r.Unstored, Unstored{Object(step.Ref), step.Source, fields})
		}
		if step.Op.IsDesired() {
			r.Objects = append(r.Objects, Object(step.Ref))
		}
	}
	slices.SortStableFunc(r.NotReady, func(a, b NotReady) int {
		return cmp.Compare(rank(a), rank(b))
	})
	for _, step := range made.Steps {
		if step.Action == Leave {
			r.Left = append(r.Left, step)
		}
	}
	return r
}

// rank returns the place of an object among those that are not ready.
func rank(n NotReady) int {
	if n.NotRecreated {
		return 0
	}
	return 1
}
