package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// judge decides whether a waiting step has what it waits for. What is watched for that is watched until the context ends.
func (r *run) judge(ctx context.Context, i int) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	gone := t.seen.status.State == ready.NotFound
	replaced := !gone && t.seen.uid != t.base.uid
	switch {
	case t.seen.before(t.base):
		r.wait(i) // what was seen is from before our write
	case step.Op.AwaitsDeletion() && (gone || replaced):
		r.settle(i, event.Succeeded, nil)
	case r.options.Dialect.Judge != nil && !gone && !replaced:
		r.heed(ctx, i)
	case step.Op.AwaitsDeletion():
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

// heed does what the dialect says of the object of a step that is there.
func (r *run) heed(ctx context.Context, i int) {
	t, dialect := &r.tracks[i], &r.options.Dialect
	verdict := dialect.Judge(i, t.seen.object, r.crowds.made(i))
	news := !slices.EqualFunc(t.made, verdict.Children, func(a, b event.Child) bool {
		return a.Ref == b.Ref && a.Version == b.Version && a.Status.Same(b.Status)
	})
	t.seen.status, t.made = verdict.Status, verdict.Children
	switch {
	case t.seen.status.State == ready.Current:
		r.settle(i, event.Succeeded, nil)
	case t.seen.status.State == ready.Failed:
		r.settle(i, event.Failed, nil)
	case r.plan.Steps[i].Op == plan.Delete && t.seen.object.GetDeletionTimestamp() == nil:
		// It was seen as it was before it was deleted: most objects are gone the next time.
	default:
		released := verdict.Release && r.schedule.release(i)
		r.tell(i, news, released)
		if dialect.Children != nil && !t.surveyed && !r.interrupted && !r.ended {
			t.surveyed = true
			r.lookForMade(ctx, i)
		}
	}
}

// wait goes on waiting for a step.
func (r *run) wait(i int) {
	r.stir()
	r.tell(i, false, false)
}

// tell tells once that a step is waited for, and later whenever its status has changed, or there is other news.
func (r *run) tell(i int, news, released bool) {
	t := &r.tracks[i]
	kind := event.Observed
	if !t.told {
		kind = event.Waiting
	} else if t.shown.Same(t.seen.status) && !news && !released {
		return
	}
	t.told, t.shown = true, t.seen.status
	r.emit(event.Event{Kind: kind, Step: i, Op: r.plan.Steps[i].Op, Status: t.seen.status, Facts: t.seen.facts, Children: t.made, Released: released})
}

// settle ends a step, once, and perhaps the run. The status that was seen last goes with it.
func (r *run) settle(i int, outcome event.Outcome, err error) {
	r.conclusion(i, outcome, err, false)
	r.endIfMust(i)
}

// endIfMust ends the run if a step that has settled is to do that.
func (r *run) endIfMust(i int) {
	if r.endsRun(i) {
		r.endEarly(i)
	}
}

// conclusion ends a step. Own says that it is by the limit of its own.
func (r *run) conclusion(i int, outcome event.Outcome, err error, own bool) {
	t := &r.tracks[i]
	if t.pause != "" {
		r.unpause(i)
	}
	if t.waiting {
		r.setFailing(t, false)
		t.waiting = false
		r.waiting--
	}
	if err != nil {
		t.err = err
	}
	t.settled, r.active = outcome, time.Now()
	r.emit(event.Event{
		Kind: event.Settled, Step: i, Op: r.plan.Steps[i].Op, Outcome: outcome, Status: t.seen.status, Facts: t.seen.facts,
		Children: t.made, StepTimeout: own && outcome == event.TimedOut, Err: t.err,
	})
	if r.options.Dialect.Judge != nil {
		t.seen.object, t.base.object, t.next = nil, nil, nil // what is over needs no memory
		r.crowds.leave(i)
	}
	r.schedule.settle(i, outcome)
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
	if !r.plan.Steps[b.step].Op.IsObject() {
		t.settled = event.Skipped
		r.schedule.settle(b.step, event.Skipped)
		return
	}
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
