package engine

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// checked is what a check found of a step whose object was unchanged when the plan was made.
type checked struct {
	step int
	next *plan.Step // decided again for the present object
	err  error
}

// delayed reports whether the steps behind a step begin so much later than the plan was made that
// their objects may have changed.
func (r *run) delayed(i int) bool { return r.tracks[i].delays }

// mustCheck reports whether the object of a step has to be read again: it was unchanged, but that
// was read long ago.
func (r *run) mustCheck(i int, step *plan.Step) bool {
	t := &r.tracks[i]
	return r.options.DryRun == DryRunNone && step.Op == plan.Unchanged && step.Draft == nil &&
		step.ReasonCode != plan.ReasonFormer && step.ReasonCode != plan.ReasonCompleted &&
		t.late && t.next == nil
}

// startCheck starts a worker that reads the objects of all late unchanged steps that have begun, in
// as few requests as Read needs, and decides about them again.
func (r *run) startCheck(ctx context.Context) {
	if len(r.unchecked) == 0 {
		return
	}
	steps := r.unchecked
	r.unchecked = nil
	r.inFlight++
	// The loop waits for this goroutine: it ends with its one message.
	go func() {
		defer crash.Catch(ctx)
		r.messages <- message{checked: r.check(context.WithoutCancel(ctx), steps)}
	}()
}

// check reads the objects of unchanged steps and decides about those that have changed.
func (r *run) check(ctx context.Context, steps []int) []checked {
	targets := make([]cluster.Target, len(steps))
	for k, i := range steps {
		ref := r.plan.Steps[i].Ref
		targets[k] = cluster.Target{
			Ref: ref, Version: r.version(ref),
			ManagedFields: r.plan.NeedsOwners() || r.plan.Steps[i].ServerSide,
		}
	}
	snapshot, err := r.engine.Cluster.Read(ctx, targets)
	found := make([]checked, len(steps))
	for k, i := range steps {
		found[k] = checked{step: i, err: err}
		if err == nil {
			found[k].next, found[k].err = r.checkOne(&r.plan.Steps[i], snapshot)
		}
	}
	return found
}

// checkOne returns the step for the present state of its object.
func (r *run) checkOne(step *plan.Step, snapshot *cluster.Snapshot) (*plan.Step, error) {
	live := snapshot.Objects[step.Ref]
	switch {
	case snapshot.Unserved.Has(step.Ref):
		return nil, errors.New("the cluster does not serve its kind any more")
	case live == nil && ready.RemovesItself(step.Have), ready.IsRemovingItself(live):
		next := *step
		next.Complete()
		return &next, nil
	case live != nil && step.Have != nil && live.GetUID() == step.Have.GetUID() &&
		live.GetResourceVersion() == step.Have.GetResourceVersion():
		return step, nil
	default:
		return replan(r.plan, step, live, nil, &r.options)
	}
}

// endCheck continues the steps of a check: those that are still unchanged are finished, others are
// written when a slot is free.
func (r *run) endCheck(ctx context.Context, found []checked) {
	for _, c := range found {
		step := &r.plan.Steps[c.step]
		switch {
		case c.err != nil:
			r.finish(ctx, c.step, &result{op: step.Op, outcome: event.Failed, err: c.err})
		case !c.next.Op.Writes() || isLeaving(r.plan, c.next, c.next.Have):
			r.finish(ctx, c.step, r.withoutWriting(c.next))
		case r.interrupted || r.ended:
			r.cutShort(c.step)
		default:
			r.tracks[c.step].next = c.next
			r.pausing++
			r.resume(c.step)
		}
	}
}

// lastReadTimeout limits the last read of objects that are about to time out.
const lastReadTimeout = 10 * time.Second

// lastRead is the end of the last read of objects that are about to time out: a watch may have been
// silent.
type lastRead struct {
	steps   []int
	seen    []observation
	overdue int  // the number of steps whose own deadline has passed; they are the first
	idle    bool // the run ends if none of the steps has settled
}

// startLastRead starts a worker that reads the objects of all steps that are about to time out,
// unless one is in progress.
func (r *run) startLastRead(ctx context.Context, now time.Time) {
	idle := r.isIdle(now)
	if r.lastReading || !idle && len(r.overdue) == 0 {
		return
	}
	done := &lastRead{steps: r.overdue, overdue: len(r.overdue), idle: idle}
	for i := range r.tracks {
		if idle && r.tracks[i].waiting {
			done.steps = append(done.steps, i)
		}
	}
	r.overdue, r.lastReading = nil, true
	// It ends with its message, or with the context.
	go func() {
		defer crash.Catch(ctx)
		done.seen = r.readAgain(ctx, done.steps)
		select {
		case r.messages <- message{lastRead: done}:
		case <-ctx.Done():
		}
	}()
}

// readAgain reads the objects of steps. An object that cannot be read has the zero observation.
func (r *run) readAgain(ctx context.Context, steps []int) []observation {
	limited, cancel := context.WithTimeout(ctx, lastReadTimeout)
	defer cancel()
	targets := make([]cluster.Target, len(steps))
	for k, i := range steps {
		ref := r.plan.Steps[i].Ref
		targets[k] = cluster.Target{Ref: ref, Version: r.version(ref)}
	}
	seen := make([]observation, len(steps))
	snapshot, err := r.engine.Cluster.Read(limited, targets)
	for k, i := range steps {
		if ref := r.plan.Steps[i].Ref; err == nil && !snapshot.Unserved.Has(ref) {
			seen[k] = r.look(i, cluster.ObjectEvent{Ref: ref, Object: snapshot.Objects[ref]})
		}
	}
	return seen
}

// endLastRead judges the objects that were read, and ends the waits that are still too long.
func (r *run) endLastRead(ctx context.Context, done *lastRead) {
	now := time.Now()
	r.lastReading = false
	for k, i := range done.steps {
		if t := &r.tracks[i]; t.waiting && !done.seen[k].isZero() {
			r.handle(ctx, message{step: i, seen: done.seen[k]})
		}
		switch {
		case k >= done.overdue || !r.tracks[i].waiting || now.Before(r.tracks[i].deadline):
		case r.extended(i, now): // by a write since then
			heap.Push(&r.alarms, alarm{r.latest, i, expired})
		default:
			r.timeOut(i)
		}
	}
	if done.idle && r.isIdle(now) {
		r.endIdle()
	} else {
		r.startLastRead(ctx, now)
	}
}
