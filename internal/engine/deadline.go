package engine

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
)

// After a write, a status may be stale for a while. settlePeriod is for objects that count as ready
// because no controller has reported a status. stalePeriod is for failures by a condition that
// predates the write: the controller may still clear it.
const (
	settlePeriod = 2 * time.Second
	stalePeriod  = 10 * time.Second
)

// isUnreported reports whether an object counts as ready only because no controller has reported
// on it, perhaps because it was just written.
func (r *run) isUnreported(t *track) bool {
	return !t.written.IsZero() && t.seen.verdict.State == ready.Current &&
		t.seen.verdict.Reason == ready.NotReported
}

// stale reports whether an object failed before our write.
func (t *track) stale() bool {
	return t.seen.verdict.State == ready.Failed && t.predatesWrite(t.seen.verdict.Since)
}

// predatesWrite reports whether a time is before our write of the object. Both are in whole
// seconds.
func (t *track) predatesWrite(since time.Time) bool {
	return !t.created && !since.IsZero() && !since.After(t.written)
}

// isDoubted reports whether the status of an object may be stale. The period starts once, at the
// first such status.
func (r *run) isDoubted(i int) bool {
	t := &r.tracks[i]
	period := settlePeriod
	switch {
	case t.unserved:
		return true
	case t.stale():
		period = stalePeriod
	case !r.isUnreported(t) && !r.isTakenUpLater(i):
		return false
	}
	if t.rests.IsZero() {
		t.rests = time.Now().Add(period)
		heap.Push(&r.alarms, alarm{t.rests, i, rested})
	}
	return time.Now().Before(t.rests)
}

// mayReappear reports whether a deleted object may still get a successor. The period starts at the
// first observation of the deletion.
func (r *run) mayReappear(i int) bool {
	t := &r.tracks[i]
	if t.vanished.IsZero() {
		t.vanished = time.Now()
		heap.Push(&r.alarms, alarm{t.vanished.Add(settlePeriod), i, rested})
	}
	return time.Since(t.vanished) < settlePeriod
}

// hasExpired reports whether the deadline in the verdict on an object has passed. The time starts
// again with another key.
func (r *run) hasExpired(i int) bool {
	t := &r.tracks[i]
	d := t.seen.verdict.Fails
	if t.fails != d.Key {
		t.fails, t.failsAt = d.Key, time.Now().Add(d.After)
		if d.Key != "" {
			heap.Push(&r.alarms, alarm{t.failsAt, i, rested})
		}
	}
	return t.fails != "" && !time.Now().Before(t.failsAt)
}

// alarm is a time at which a step is checked, if the run still waits for it.
type alarm struct {
	at     time.Time
	step   int
	reason reason
}

// reason is the reason of an alarm.
type reason int

const (
	rested    reason = iota // its status is trusted from now on
	expired                 // its deadline has passed
	pauseOver               // it is retried, or ends if it waited in vain
)

// alarms is a heap of alarms, the earliest first.
type alarms []alarm

func (a alarms) Len() int      { return len(a) }
func (a alarms) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Less compares alarms by time, then by the order of the plan.
func (a alarms) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].step < a[j].step
	}
	return a[i].at.Before(a[j].at)
}

// Push adds an element for package heap.
func (a *alarms) Push(x any) { *a = append(*a, x.(alarm)) }

// Pop removes the last element for package heap.
func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// ownLimit returns a limit that a step has itself; not set if it is that of the run.
func ownLimit(d time.Duration) limit.Time {
	if d <= 0 {
		return limit.Time{}
	}
	return limit.After(d)
}

// goneLimits returns how long a paused step waits until the object that is in its way is gone,
// before and after Limits.Stall counts. For one that the run has not deleted, it waits as long as
// for the object that it creates.
func (r *run) goneLimits(i int) (first, last limit.Time) {
	l, own := r.options.Limits, ownLimit(r.plan.Steps[i].Gone())
	if _, ok := r.tracks[i].err.(*BeingDeletedError); ok {
		return limit.First(own, l.Apply, l.Idle), l.Delete
	}
	return limit.First(own, l.Delete, l.Idle), l.Apply
}

// lingerLimit returns how long a paused step waits for an object to be gone.
func (r *run) lingerLimit(i int) limit.Time {
	first, last := r.goneLimits(i)
	return limit.First(first, r.options.Limits.Stall, last)
}

// stalls reports whether Limits.Stall limits the wait of a paused step, so that progress of others
// extends it.
func (r *run) stalls(i int) bool {
	first, _ := r.goneLimits(i)
	return r.options.Limits.Stall.Ends() && !first.Ends()
}

// setDeadline sets how long a written step is waited for: its own limit, else that of the run.
func (r *run) setDeadline(i int) {
	timeout, now := r.options.Limits.Apply, time.Now()
	if r.plan.Steps[i].Op.AwaitsDeletion() {
		timeout = r.options.Limits.Delete
	}
	if own := ownLimit(r.plan.Steps[i].WaitLimit()); own.Ends() {
		r.limited, timeout = append(r.limited, i), own
	} else {
		r.latest = now.Add(timeout.Duration())
	}
	r.tracks[i].deadline = timeout.From(now)
	if timeout.Ends() {
		heap.Push(&r.alarms, alarm{timeout.From(now), i, expired})
	}
}

// extended reports whether later writes have extended the deadline of a step.
func (r *run) extended(i int, now time.Time) bool {
	return r.options.Limits.PerWave && r.plan.Steps[i].WaitLimit() == 0 && r.latest.After(now)
}

// arm sets the timer to the next time at which something is due.
func (r *run) arm(timer *time.Timer) {
	timer.Stop()
	for len(r.alarms) > 0 && !r.concerns(r.alarms[0]) {
		heap.Pop(&r.alarms)
	}
	var first time.Time
	if len(r.alarms) > 0 {
		first = r.alarms[0].at
	}
	if at := r.idleUntil(); !at.IsZero() && !r.lastReading && (first.IsZero() || at.Before(first)) {
		first = at
	}
	if r.waiting == 0 {
		r.diagnosis.at = time.Time{}
	}
	for _, at := range []time.Time{r.diagnosis.at, r.announceAt} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		timer.Reset(time.Until(first))
	}
}

// concerns reports whether an alarm still applies to its step.
func (r *run) concerns(a alarm) bool {
	t := &r.tracks[a.step]
	if a.reason == pauseOver {
		return t.pause != "" && t.pause != due
	}
	return t.waiting
}

// idleUntil returns the time at which a run ends that is idle or makes no progress; zero if there
// is no such limit. A run that writes is not idle.
func (r *run) idleUntil() time.Time {
	if r.waiting == 0 || r.inFlight > 0 {
		return time.Time{}
	}
	var until time.Time
	if idle := r.options.Limits.Idle; idle.Ends() {
		until = idle.From(r.active)
	}
	if stall := r.options.Limits.Stall; stall.Ends() && !r.hasOwnLimit() {
		last := r.active
		if r.progress.After(last) {
			last = r.progress
		}
		if at := stall.From(last); until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return until
}

// hasOwnLimit reports whether a step is waited for that has a limit of its own.
func (r *run) hasOwnLimit() bool {
	return slices.ContainsFunc(r.limited, func(i int) bool { return r.tracks[i].waiting })
}

// noteProgress records that an object has a status that it did not have before.
func (r *run) noteProgress(t *track) {
	shows := shown{t.shown.status.WithoutTimes(), slices.Clone(t.shown.children)}
	for i := range shows.children {
		shows.children[i].Status = shows.children[i].Status.WithoutTimes()
	}
	if !r.options.Limits.Stall.Ends() || slices.ContainsFunc(t.statuses, shows.same) {
		return
	}
	t.statuses = append(t.statuses, shows)
	r.progress = time.Now()
}

// maxReasons is the number of reasons of an object that are progress: what fails for a new reason
// again and again gets nowhere.
const maxReasons = 10

// noteReasons records that an object is not ready for reasons that it did not have before in this
// run, which shows that something has been tried.
func (r *run) noteReasons(t *track, causes []ready.Cause, now time.Time) {
	for _, c := range causes {
		reason := c.Reason()
		if len(t.reasons) < maxReasons && !slices.Contains(t.reasons, reason) {
			t.reasons, r.progress = append(t.reasons, reason), now
		}
	}
}

// endIdle ends a run in which nothing has happened for too long.
func (r *run) endIdle() {
	first := -1
	for i := range r.tracks {
		if r.tracks[i].waiting {
			r.conclusion(i, event.TimedOut, nil, false)
			if first < 0 {
				first = i
			}
		}
	}
	r.abort(first)
}

// expire handles all alarms and diagnoses that are due.
func (r *run) expire(ctx context.Context, now time.Time) {
	if at := r.diagnosis.at; !at.IsZero() && !at.After(now) {
		r.diagnose(ctx, now)
	}
	for len(r.alarms) > 0 && !r.alarms[0].at.After(now) {
		due := heap.Pop(&r.alarms).(alarm)
		switch {
		case !r.concerns(due),
			due.reason == expired && due.at.Before(r.tracks[due.step].deadline): // of its first wait
		case due.reason == expired && r.extended(due.step, now):
			heap.Push(&r.alarms, alarm{r.latest, due.step, expired})
		case due.reason == expired:
			r.overdue = append(r.overdue, due.step)
		case due.reason == pauseOver:
			r.expirePaused(ctx, due.step)
		default:
			r.judge(ctx, due.step)
		}
	}
	if at := r.announceAt; !at.IsZero() && !at.After(now) {
		r.announce()
	}
	r.startLastRead(ctx, now)
}

// isIdle reports whether nothing has happened for too long.
func (r *run) isIdle(now time.Time) bool {
	at := r.idleUntil()
	return !at.IsZero() && !at.After(now)
}

// timeOut settles a step whose deadline has passed.
func (r *run) timeOut(i int) {
	r.conclusion(i, r.timeoutOutcome(i), nil, r.plan.Steps[i].WaitLimit() > 0)
	r.endIfMust(i)
}

// timeoutOutcome returns the outcome of a step whose deadline has passed: a failure if the object
// has failed, a success if only the wait for a report was cut short.
func (r *run) timeoutOutcome(i int) event.Outcome {
	switch {
	case r.tracks[i].seen.verdict.State == ready.Failed:
		return event.Failed
	case r.isUnreported(&r.tracks[i]), r.tracks[i].quiet:
		return event.Succeeded
	default:
		return event.TimedOut
	}
}
