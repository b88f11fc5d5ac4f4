package engine

import (
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// judge decides whether a waiting step has what it waits for.
func (r *run) judge(i int) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	gone := t.seen.status.State == ready.NotFound
	replaced := !gone && t.seen.uid != t.base.uid
	switch {
	case t.seen.before(t.base):
		r.wait(i) // what was seen is from before our write
	case step.Op == plan.Delete && (gone || replaced):
		r.settle(i, event.Succeeded, nil)
	case step.Op == plan.Delete:
		r.wait(i)
	case replaced:
		r.settle(i, event.Failed, errors.New("it was replaced by another object while it was waited for"))
	case t.seen.undated() && t.missed < 2:
		r.wait(i) // it may have been looked for just before it was written
	case gone:
		r.settle(i, event.Failed, errors.New("it was deleted while it was waited for"))
	case r.doubtful(i):
		r.setFailing(t, false)
		r.wait(i)
	case t.seen.status.State == ready.Current:
		r.settle(i, event.Succeeded, nil)
	case r.options.FailFast && t.seen.status.State == ready.Failed:
		r.settle(i, event.Failed, nil)
	default:
		r.setFailing(t, t.seen.status.State == ready.Failed)
		r.wait(i)
	}
}

// wait tells once that the step is waited for, and later whenever its status has changed.
func (r *run) wait(i int) {
	t := &r.tracks[i]
	r.stir()
	kind := event.Observed
	if !t.told {
		kind = event.Waiting
	} else if t.shown.Same(t.seen.status) {
		return
	}
	t.told, t.shown = true, t.seen.status
	r.emit(event.Event{Kind: kind, Step: i, Op: r.plan.Steps[i].Op, Status: t.seen.status, Facts: t.seen.facts})
}

// settle ends a step, once. The status that was seen last goes with it.
func (r *run) settle(i int, outcome event.Outcome, err error) {
	t := &r.tracks[i]
	if t.waiting {
		r.setFailing(t, false)
		t.waiting = false
		r.waiting--
	}
	if err != nil {
		t.err = err
	}
	t.settled = outcome
	r.emit(event.Event{Kind: event.Settled, Step: i, Op: r.plan.Steps[i].Op, Outcome: outcome, Status: t.seen.status, Facts: t.seen.facts, Err: t.err})
	r.schedule.settle(i, outcome)
	if r.options.FailFast && outcome.Bad() && !r.ended && !r.interrupted {
		r.endEarly(i)
	}
}

func (r *run) setFailing(t *track, failing bool) {
	if t.failing == failing {
		return
	}
	t.failing = failing
	if failing {
		r.failing++
	} else {
		r.failing--
	}
}

// skip ends a step that will never start.
func (r *run) skip(b blocked) {
	t := &r.tracks[b.step]
	t.acted = event.Skipped
	e := event.Event{Kind: event.Acted, Step: b.step, Op: r.plan.Steps[b.step].Op, Outcome: event.Skipped, Blocker: &b.by}
	if by := r.plan.Steps[b.by]; by.Op == plan.Guard {
		e.Reason = by.Reason
		if r.schedule.closedBy(b.by, r.schedule.failed) < 0 {
			e.Reason = fmt.Sprintf("nothing is pruned while %s cannot be applied", r.plan.Steps[r.schedule.closedBy(b.by, r.schedule.isBarred)].Ref)
		}
	}
	r.emit(e)
	r.settle(b.step, event.Skipped, nil)
}
