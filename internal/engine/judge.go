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

// judge decides whether the wait for a step is over, by the last observation of its object.
func (r *run) judge(ctx context.Context, i int) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	t.onTrial, t.quiet = false, false
	gone := t.seen.verdict.State == ready.NotFound
	replaced := !gone && t.seen.uid != t.base.uid
	if !gone {
		t.vanished = time.Time{}
	}
	switch {
	case step.Op == plan.Observe:
		r.observed(ctx, i)
	case t.seen.before(t.base):
		r.wait(i) // the observation is older than our write
	case step.Returns && r.mayReturn(ctx, i, gone, replaced):
		// its dependents start meanwhile
	case step.Op.AwaitsDeletion() && (gone || replaced):
		r.settle(i, event.Succeeded, nil)
	case step.Op.AwaitsDeletion():
		r.wait(i)
	case replaced && !r.options.Successors:
		r.settle(i, event.Failed, errors.New("it was replaced by another object while it was waited for"))
	case t.seen.unversioned() && t.missed < 2:
		r.wait(i) // it may have been looked for just before it was written
	case gone && r.options.Successors && r.mayReappear(i):
		r.wait(i)
	case gone:
		r.settle(i, event.Failed, errors.New("it was deleted while it was waited for"))
	default:
		r.applyVerdict(ctx, i)
	}
}

// applyVerdict settles a step by the verdict on its object, or waits further.
func (r *run) applyVerdict(ctx context.Context, i int) {
	t := &r.tracks[i]
	if t.queried && t.seen.object != nil {
		t.seen.verdict = r.engine.rules().Judge(t.seen.object, r.related.childrenOf(i))
	}
	r.judgePods(ctx, i)
	failed := t.seen.verdict.State == ready.Failed
	switch {
	case r.isDoubted(i):
		r.setFailing(t, false)
		r.wait(i)
	case t.seen.verdict.State == ready.Current:
		r.settle(i, event.Succeeded, nil)
	case r.hasExpired(i):
		t.seen.verdict.Status = ready.Status{
			State: ready.Failed, Message: t.seen.verdict.Fails.Message,
		}
		r.settle(i, event.Failed, nil)
	case failed && (t.seen.verdict.Final || r.options.StopOn.WaitError):
		r.settle(i, event.Failed, nil)
	default:
		r.setFailing(t, failed || t.certain.over)
		r.released(i)
		r.wait(i)
		if t.relapsed && !r.interrupted && !r.ended {
			r.watch(ctx, r.groupOf(r.plan.Steps[i].Ref)) // nothing may have been waited for before
		}
		if t.seen.children != nil && !t.queried && !r.interrupted && !r.ended {
			t.queried = true
			r.watchChildren(ctx, i)
		}
	}
}

// released lets the dependents of a step start if the verdict on its object says so, and emits that
// once.
func (r *run) released(i int) {
	t := &r.tracks[i]
	if t.seen.verdict.Releases && r.schedule.release(i) {
		r.emitStatus(i, true)
	}
}

// wait emits the status of a step that is waited for further, and schedules a diagnosis.
func (r *run) wait(i int) {
	t := &r.tracks[i]
	r.scheduleDiagnosis()
	if t.seen.evidence != nil && t.seen.evidence.DeletesPods() {
		r.scheduleDiagnosisAfter(0) // its pods are watched from the beginning
	}
	if !t.announced || !t.quiet && !t.shown.sameStatus(t.seen.verdict) {
		r.emitStatus(i, false)
	}
}

// emitStatus emits a Waiting event, once for each step, and Observed events after it.
func (r *run) emitStatus(i int, released bool) {
	t := &r.tracks[i]
	kind := event.Observed
	if !t.announced {
		kind = event.Waiting
	}
	t.announced, t.shown = true, shown{t.seen.verdict.Status, t.seen.verdict.Children}
	r.noteProgress(t)
	r.emit(event.Event{
		Kind: kind, Step: i, Op: r.plan.Steps[i].Op, Status: t.shown.status, Facts: t.seen.facts,
		Children: t.shown.children, Released: released,
		Relapsed: kind == event.Waiting && t.relapsed,
	})
}

// shown is the part of a verdict that events carry.
type shown struct {
	status   ready.Status
	children []ready.Child
}

// sameStatus reports whether an event about the verdict would repeat the last one.
func (s shown) sameStatus(v ready.Verdict) bool {
	return s.same(shown{v.Status, v.Children})
}

// same reports whether events would carry the same.
func (s shown) same(other shown) bool {
	return s.status.Same(other.status) &&
		slices.EqualFunc(s.children, other.children, ready.Child.Same)
}

// settle settles a step, once, and ends the run if its failure does that.
func (r *run) settle(i int, outcome event.Outcome, err error) {
	r.conclusion(i, outcome, err, false)
	r.endIfMust(i)
}

// endIfMust ends the run if the failure of a step does that.
func (r *run) endIfMust(i int) {
	if r.endsRun(i) {
		r.abort(i)
	}
}

// conclusion settles a step. Own means that its own limit ended it.
func (r *run) conclusion(i int, outcome event.Outcome, err error, own bool) {
	t := &r.tracks[i]
	if r.closes(i) && !outcome.IsFailure() {
		r.reopenRelapsed()
	}
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
	if t.settled, t.generation = outcome, t.seen.generation; !t.relapsed {
		r.active = time.Now() // workloads that crash in turn make no progress
	}
	r.emit(event.Event{
		Kind: event.Settled, Step: i, Op: r.plan.Steps[i].Op, Outcome: outcome,
		Status: t.seen.verdict.Status, Facts: t.seen.facts,
		Children: t.seen.verdict.Children, StepTimeout: own && outcome == event.TimedOut, Err: t.err,
	})
	if t.next = nil; !r.sources[r.plan.Steps[i].Ref] {
		t.seen.object, t.base.object = nil, nil
	}
	r.related.dropChildren(i)
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

// skip settles a step that never starts.
func (r *run) skip(b blocked) {
	t := &r.tracks[b.step]
	if !r.plan.Steps[b.step].Op.IsObject() {
		t.settled = event.Skipped
		r.schedule.settle(b.step, event.Skipped)
		return
	}
	t.acted = event.Skipped
	blocker := r.schedule.blockerOf(b.by)
	e := event.Event{
		Kind:    event.Acted,
		Step:    b.step,
		Op:      r.plan.Steps[b.step].Op,
		Outcome: event.Skipped,
		Blocker: &blocker,
	}
	if by := r.plan.Steps[blocker]; by.Op == plan.Guard {
		e.Reason = by.Reason
		if by.ReasonCode == "" && r.schedule.firstBefore(blocker, r.schedule.failed) < 0 {
			e.Reason = fmt.Sprintf("nothing is pruned while %s cannot be applied",
				r.plan.Steps[r.schedule.firstBefore(blocker, r.schedule.isBlocked)].Ref)
		}
	}
	r.emit(e)
	r.settle(b.step, event.Skipped, nil)
}
