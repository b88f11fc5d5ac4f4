package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// finish handles the end of the write of a step, unless the step is paused.
func (r *run) finish(ctx context.Context, i int, done *result) {
	if !r.paused(ctx, i, done) {
		r.conclude(ctx, i, done)
		if r.options.Pods.Check && r.wasAwaited(i) {
			r.atOnce = append(r.atOnce, i)
		}
	}
	r.watchReady(ctx)
}

// conclude settles a step whose write is over, or starts to wait for it.
func (r *run) conclude(ctx context.Context, i int, done *result) {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	done.err = cluster.Redact(done.err, step.HoldsSecret())
	if t.deleted {
		done = notRecreated(done)
	}
	uncreated := (*NotRecreatedError)(nil)
	t.ran, t.op, t.acted, t.err, t.stored = true, done.op, done.outcome, done.err, done.stored
	r.emit(
		event.Event{
			Kind:         event.Acted,
			Step:         i,
			Op:           done.op,
			Outcome:      done.outcome,
			Reason:       done.reason,
			ReasonCode:   done.code,
			Err:          done.err,
			DryRunObject: done.would,
			Recreates:    done.recreates,
			Unstored:     done.unstored,
			NotRecreated: errors.As(done.err, &uncreated),
		},
	)
	r.schedule.acted(i)
	r.active = time.Now()
	if done.outcome == event.Succeeded && r.options.DryRun == DryRunNone {
		t.base = r.look(i, done.seen)
	}
	t.gone = done.leaving && done.seen.Object == nil
	t.delays = t.delays || done.outcome == event.Succeeded && done.op.Writes()
	if interrupted := (*cluster.InterruptedError)(nil); errors.As(done.err, &interrupted) {
		r.settle(i, event.Interrupted, nil)
		return
	}
	if done.outcome != event.Succeeded || done.ended || !step.Wait ||
		r.options.DryRun != DryRunNone {
		r.settle(i, done.outcome, nil)
		return
	}
	if step.Op == plan.Delete && done.seen.Object != nil &&
		done.seen.Object.GetDeletionTimestamp() == nil {
		t.base.verdict.Status = ready.Status{
			State:   ready.Terminating,
			Reason:  event.DeletionRequested,
			Message: "Resource scheduled for deletion",
		}
	}
	if t.seen.before(t.base) || t.seen.unversioned() {
		t.seen, t.missed = t.base, 0
	}
	if done.op == plan.Create || done.op == plan.Update {
		t.written, t.created = changedAt(done.seen.Object), done.op == plan.Create
	}
	if done.published != "" && done.op == plan.Update {
		t.unserved = true
		r.awaitServed(ctx, i, done.published)
	}
	now := time.Now()
	t.waiting, t.began, t.since, t.changed = true, now, now, now
	r.waiting++
	r.setDeadline(i)
	r.judge(ctx, i)
	switch {
	case t.waiting && (r.interrupted || r.ended):
		r.cutShort(i)
	case t.waiting:
		t.delays = true
		r.watch(ctx, r.groupOf(step.Ref))
	}
}

// emit passes an event on, with the identity of its step.
func (r *run) emit(e event.Event) {
	e.Ref, e.Tag = r.plan.Steps[e.Step].Ref, r.plan.Steps[e.Step].Tag
	e = r.withoutSecrets(e)
	r.summary.Add(e)
	r.sink(e)
}

// withoutSecrets returns an event without the values of the Secrets of the set: controllers may
// write these into statuses and events.
func (r *run) withoutSecrets(e event.Event) event.Event {
	if e.Status.Message != "" {
		e.Status.Message = r.secretTexts().Replace(e.Status.Message)
	}
	e.Causes, e.Children = r.masked(e.Causes), slices.Clone(e.Children)
	for i := range e.Children {
		status := &e.Children[i].Status
		status.Message = r.secretTexts().Replace(status.Message)
	}
	return e
}
