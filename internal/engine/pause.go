package engine

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// pause is the reason why a started step is not being written. A paused step continues later and
// holds no slot.
type pause string

// The pauses. The zero value is none.
const (
	passing   pause = "passing"   // transient error of its write: until its alarm
	lingering pause = "lingering" // object to recreate is still there: until it is gone
	absent    pause = "absent"    // object that others create: until it exists
	due       pause = "due"       // resumed: until a slot is free
)

// find looks for the object of a step that others create.
func (r *run) find(ctx context.Context, step *plan.Step) *result {
	done := &result{op: step.Op, outcome: event.Failed}
	snapshot, err := r.engine.Cluster.Read(ctx,
		[]cluster.Target{{Ref: step.Ref, Version: r.version(step.Ref)}})
	switch {
	case err != nil:
		done.err = err
	case snapshot.Objects[step.Ref] == nil:
		done.err, done.pause = &AbsentError{}, absent
	default:
		done.outcome, done.seen.Object = event.Succeeded, snapshot.Objects[step.Ref]
	}
	return done
}

// paused reports whether a step continues later. A step that was retried for too long fails
// instead.
func (r *run) paused(ctx context.Context, i int, done *result) bool {
	step, t := &r.plan.Steps[i], &r.tracks[i]
	why := done.pause
	if why == "" && !done.stored && cluster.WebhookUnavailable(done.err) {
		why = passing
		t.uncertain = t.uncertain || !cluster.Refused(done.err)
	}
	lacks := (*UnstoredError)(nil)
	if why == "" && (errors.As(done.err, &lacks) ||
		!done.stored && r.mayBeOutdated(step, done.err)) {
		why = passing
	}
	if done.rest != nil {
		t.next = done.rest
	}
	t.deleted = t.deleted || done.deleted
	if why == "" {
		return false
	}
	now := time.Now()
	t.err = cluster.Redact(done.err, step.HoldsSecret())
	at, announced, awaited := r.nextRetry(i, why, now)
	switch {
	case why == passing && (r.interrupted || r.ended):
		return false // it failed, and is not tried again
	case why == passing && !at.After(now):
		since, _ := r.patience(i, now)
		done.err = &TimedOutError{
			After: since.Sub(t.tried).Truncate(time.Second) + r.options.Retry.For.Duration(),
			Last:  cluster.Redact(done.err, step.HoldsSecret()),
		}
		return false
	}
	if _, leaving := t.err.(*BeingDeletedError); why == passing || leaving {
		// Other steps do not wait for a retry, or a deletion: they may be what it needs, such as the
		// controller that removes a finalizer.
		r.schedule.acted(i)
	}
	t.pause = why
	t.uncertain = t.uncertain || done.stored
	r.pausing++
	if r.interrupted || r.ended {
		r.endPaused(i)
		return true
	}
	switch {
	case announced && t.deleted:
		r.emitUncreated(i, step.Op)
	case announced:
		e := event.Event{Kind: event.Retried, Step: i, Op: step.Op, Err: t.err}
		if !t.awaits && awaited != nil {
			t.awaits, e.Awaits = true, awaited
			e.Causes = []ready.Cause{{
				Object: *awaited, Count: 1,
				Message: "it serves a webhook that the server cannot call yet: " + t.err.Error(),
			}}
		}
		r.emit(e)
	}
	if !at.IsZero() {
		heap.Push(&r.alarms, alarm{at, i, pauseOver})
	}
	if why != passing {
		t.base = r.look(i, done.seen)
		if !t.deleted { // else it was read before its deletion
			r.explainLingering(t, t.base)
			r.emitLingering(i)
		}
		r.watch(ctx, r.groupOf(step.Ref))
		r.checkPaused(ctx, i)
	}
	return true
}

// mayBeOutdated reports whether the server refused fields that it may know a moment later, since
// this run has written the definition of the kind: a server takes up a new schema after its answer.
func (r *run) mayBeOutdated(step *plan.Step, err error) bool {
	definition := r.definitions[step.Ref.GroupKind()]
	return definition != nil && r.options.DryRun == DryRunNone && cluster.FieldsUnknown(err) &&
		(definition.Op == plan.Create || definition.Op == plan.Update)
}

// nextRetry returns the latest time at which a paused step continues, zero if there is none,
// whether an event announces the retry, and the workload of the set that it waits for, if known.
func (r *run) nextRetry(i int, why pause, now time.Time) (
	at time.Time, announced bool, awaited *object.Ref,
) {
	t := &r.tracks[i]
	switch why {
	case lingering:
		return r.lingerLimit(i).From(now), false, nil
	case absent:
		return r.absentLimit(i).From(t.tried), true, nil
	default:
		began, awaited := r.patience(i, now)
		if r.options.DryRun != DryRunNone {
			if r.refusing.IsZero() {
				r.refusing = t.tried
			}
			began = r.refusing
		}
		every := r.options.Retry.Every
		if every <= 0 {
			every = DefaultRetryEvery
		}
		at = now.Add(every)
		if end := r.options.Retry.For.From(began); !end.IsZero() && end.Before(at) {
			at = end // last attempt
		}
		return at, true, awaited
	}
}

// absentLimit returns how long others may take to create the object of a step: the time of the
// object or of what is applied, if the user limits these, else that of retries.
func (r *run) absentLimit(i int) limit.Time {
	l := r.options.Limits
	if l.Idle.Ends() {
		return r.options.Retry.For
	}
	return limit.First(ownLimit(r.plan.Steps[i].Timeout), l.Apply, r.options.Retry.For)
}

// stallsLater returns the time until which Limits.Stall lets a step wait for an object to be gone;
// zero if another limit applies or the time is over.
func (r *run) stallsLater(i int, now time.Time) time.Time {
	if !r.stalls(i) {
		return time.Time{}
	}
	last := r.active
	if r.progress.After(last) {
		last = r.progress
	}
	if r.inFlight > 0 {
		last = now
	}
	if at := r.options.Limits.Stall.From(last); at.After(now) {
		return at
	}
	return time.Time{}
}

// checkPaused continues a paused step if its object is in the state that it waits for.
func (r *run) checkPaused(ctx context.Context, i int) {
	t := &r.tracks[i]
	seen := &t.seen
	switch {
	case seen.isZero() || seen.before(t.base):
	case t.pause == lingering && (seen.verdict.State == ready.NotFound || seen.uid != t.base.uid):
		r.resume(i)
	case t.pause == lingering:
		if r.explainLingering(t, *seen) || t.deleted && seen.leaving {
			r.emitLingering(i)
		}
	case t.pause == absent && seen.object != nil:
		r.unpause(i)
		r.conclude(
			ctx,
			i,
			&result{
				op:      r.plan.Steps[i].Op,
				outcome: event.Succeeded,
				seen:    cluster.ObjectEvent{Object: seen.object},
			},
		)
	}
}

// expirePaused ends or continues a paused step whose time is over.
func (r *run) expirePaused(ctx context.Context, i int) {
	t := &r.tracks[i]
	patience := r.absentLimit(i)
	switch t.pause {
	case passing:
		r.resume(i)
		return
	case lingering:
		if at := r.stallsLater(i, time.Now()); !at.IsZero() {
			heap.Push(&r.alarms, alarm{at, i, pauseOver})
			return
		}
		patience = r.lingerLimit(i)
	}
	after := patience.Duration()
	done := &result{
		op: r.plan.Steps[i].Op, outcome: event.Failed,
		err: &TimedOutError{After: after, Last: t.err},
	}
	if waits, ok := t.err.(*BeingDeletedError); ok {
		done.err, done.stored = &StillThereError{After: after, Last: waits}, t.uncertain
	}
	r.unpause(i)
	r.conclude(ctx, i, done)
}

// resume schedules a paused step for the next free slot.
func (r *run) resume(i int) {
	r.tracks[i].pause = due
	r.due = append(r.due, i)
}

// takeDue returns a step that was resumed.
func (r *run) takeDue() (int, bool) {
	for len(r.due) > 0 {
		i := r.due[0]
		r.due = r.due[1:]
		if r.tracks[i].pause == due {
			r.unpause(i)
			r.schedule.take(i)
			return i, true
		}
	}
	return 0, false
}

func (r *run) unpause(i int) {
	r.tracks[i].pause = ""
	r.pausing--
}
