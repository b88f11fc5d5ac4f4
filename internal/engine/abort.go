package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// hopeless reports whether all objects that are waited for have failed, while no write is in
// progress and no step can start.
func (r *run) hopeless() bool {
	return r.inFlight == 0 && r.pausing == 0 && r.waiting > 0 && r.failing == r.waiting &&
		!r.hasCertaintyExpired() && !r.restarts()
}

// restarts reports whether a container that is waited for has crashed before the last change in the
// run, and was not started since.
func (r *run) restarts() bool {
	active := r.active.Add(r.engine.Cluster.ClockAhead())
	for i := range r.tracks {
		s := r.tracks[i].seen.verdict.Status
		if r.tracks[i].waiting && s.State == ready.Failed && s.Reason == ready.CrashLooping &&
			!s.Since.IsZero() && s.Since.Before(active) {
			return true
		}
	}
	return false
}

// giveUp settles the steps whose objects have failed.
func (r *run) giveUp() {
	for i := range r.tracks {
		if r.tracks[i].failing {
			r.settle(i, event.Failed, nil)
		}
	}
}

// unauthorizedLimit is how long the server may refuse the credentials of a run that waits: a plugin
// may renew them.
const unauthorizedLimit = 2 * time.Minute

// endUnauthorized ends a run whose credentials the server refuses: the first step that is waited
// for fails.
func (r *run) endUnauthorized(err error) {
	r.fatal = &UnauthorizedError{For: unauthorizedLimit, Last: err}
	for i := range r.tracks {
		if r.tracks[i].waiting {
			r.conclusion(i, event.Failed, r.fatal, false)
			r.abort(i)
			return
		}
	}
}

// announceDelay is how long after an interrupt it is emitted which writes are still in progress.
const announceDelay = 2 * time.Second

// announce emits which writes an interrupted run waits for.
func (r *run) announce() {
	r.announceAt = time.Time{}
	unanswered, first := &UnansweredError{}, -1
	for i := range r.tracks {
		if r.plan.Steps[i].Op.IsObject() && r.beingWritten(i) {
			unanswered.Refs = append(unanswered.Refs, r.plan.Steps[i].Ref)
			if first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		op := r.plan.Steps[first].Op
		r.emit(event.Event{Kind: event.Observed, Step: first, Op: op, Err: unanswered})
	}
}

// endsRun reports whether the failure of a step ends the run.
func (r *run) endsRun(i int) bool {
	switch {
	case r.ended || r.interrupted || !r.tracks[i].settled.IsFailure():
		return false
	case r.tracks[i].acted == event.Failed:
		return r.options.StopOn.WriteError
	default:
		return r.options.StopOn.WaitError
	}
}

// abort ends every step that is not being written, because of a step that failed.
func (r *run) abort(failed int) {
	r.ended, r.endedBy = true, failed
	for i := range r.plan.Steps {
		if !r.beingWritten(i) {
			r.skipAborted(i)
		}
	}
	r.stop()
}

// skipAborted emits that a step was not started because the run was aborted.
func (r *run) skipAborted(i int) {
	t := &r.tracks[i]
	if t.acted != "" || t.deleted || !r.plan.Steps[i].Op.IsObject() {
		return
	}
	t.acted = event.Skipped
	r.emit(
		event.Event{
			Kind:     event.Acted,
			Step:     i,
			Op:       r.plan.Steps[i].Op,
			Outcome:  event.Skipped,
			Blocker:  &r.endedBy,
			RunEnded: true,
		},
	)
}

// beingWritten reports whether a worker is writing the step.
func (r *run) beingWritten(i int) bool {
	return r.schedule.state[i] == writing && r.tracks[i].pause == ""
}

// endPaused ends a paused step of a run that was aborted or interrupted.
func (r *run) endPaused(i int) {
	if r.ended {
		r.skipAborted(i)
	}
	r.cutShort(i)
}

// cutShort settles a step that is not finished when the run ends.
func (r *run) cutShort(i int) {
	outcome, err := r.endOutcome(i)
	if t := &r.tracks[i]; t.deleted && t.acted == "" {
		r.endRecreation(i)
		if err = nil; outcome == event.Skipped {
			outcome = event.Failed
		}
	}
	r.settle(i, outcome, err)
}

// stop ends every step that is not being written.
func (r *run) stop() {
	for i, step := range r.plan.Steps {
		switch {
		case r.beingWritten(i) || r.tracks[i].settled != "":
		case step.Op.IsObject():
			r.cutShort(i)
		default:
			outcome, _ := r.endOutcome(i)
			r.tracks[i].settled = outcome
			r.schedule.settle(i, outcome)
		}
	}
}

// endOutcome returns the outcome of a step that is not finished when the run ends, with the error
// of one that was not begun in time, or what a paused one waits for.
func (r *run) endOutcome(i int) (event.Outcome, error) {
	switch t := &r.tracks[i]; {
	case r.outOfTime && t.waiting:
		return event.TimedOut, nil
	case r.outOfTime && t.pause != "" && t.err != nil && !t.deleted:
		return event.TimedOut, fmt.Errorf("%w: %w", ErrOutOfTime, t.err)
	case r.outOfTime:
		return event.Interrupted, ErrOutOfTime
	case r.interrupted:
		return event.Interrupted, nil
	}
	return event.Skipped, nil
}

// A cause that is certain not to pass fails its object if the cluster has reported it so many times
// more, and so long after, since anything in the run has changed.
const (
	certainReports = 2
	certainPeriod  = 10 * time.Second
)

// certainty is a cause that is certain not to pass.
type certainty struct {
	since   time.Time // first time, or the first time after the last change in the run; or zero
	reports int       // its reports at that time
	over    bool      // it has lasted and was reported again: the object counts as failed
}

// countReports updates whether an object counts as failed because of a certain cause.
func (r *run) countReports(step int, causes []ready.Cause, now time.Time) {
	t := &r.tracks[step]
	i := slices.IndexFunc(causes, func(c ready.Cause) bool {
		return c.Certain && !r.mayProvide(c.Missing)
	})
	if !r.options.GiveUp || !t.waiting || r.plan.Steps[step].Op.AwaitsDeletion() || i < 0 {
		r.resetCertainty(t)
		return
	}
	c := causes[i]
	if t.certain.since.IsZero() || t.certain.since.Before(r.active) {
		r.resetCertainty(t)
		t.certain = certainty{since: now, reports: c.Reports}
	}
	if r.diagnosis.due(t.certain.since.Add(certainPeriod), now) &&
		(c.Once || c.Reports >= t.certain.reports+certainReports) {
		t.certain.over = true
		r.setFailing(t, true)
	}
}

// resetCertainty makes an object count as failed by its status alone.
func (r *run) resetCertainty(t *track) {
	if t.certain.over {
		r.setFailing(t, t.seen.verdict.State == ready.Failed)
	}
	t.certain = certainty{}
}

// mayProvide reports whether a step of the run applies an object and has not failed.
func (r *run) mayProvide(missing object.Ref) bool {
	if missing.Name == "" {
		return false
	}
	for i, step := range r.plan.Steps {
		if step.Ref == missing && step.Op.IsObject() && !step.Op.AwaitsDeletion() {
			t := &r.tracks[i]
			return !t.settled.IsFailure() && t.settled != event.Skipped
		}
	}
	return false
}

// hasCertaintyExpired reports whether something in the run has changed since an object counts as
// failed by a certain cause. It then starts to count the reports about the object again.
func (r *run) hasCertaintyExpired() bool {
	expired := false
	for i := range r.tracks {
		if t := &r.tracks[i]; t.waiting && t.certain.over && t.certain.since.Before(r.active) {
			r.resetCertainty(t)
			r.scheduleDiagnosis()
			expired = true
		}
	}
	return expired
}

// doubt is a cause that is often transient, and the time since which an object has had it.
type doubt struct {
	cause ready.Cause
	since time.Time
}

// keepDoubts updates the doubts of an object: those that are among its causes. The first ones of an
// object that is being deleted date from the beginning: nobody has looked before.
func (t *track) keepDoubts(causes []ready.Cause, now time.Time) {
	since := now
	if t.seen.evidence.Leaving() && len(t.doubts)+len(t.causes) == 0 {
		since = t.began
	}
	t.doubts = slices.DeleteFunc(t.doubts, func(d doubt) bool {
		return !slices.ContainsFunc(causes, d.cause.Same)
	})
	for _, c := range causes {
		if c.Delay > 0 && !slices.ContainsFunc(t.doubts, func(d doubt) bool { return d.cause.Same(c) }) {
			t.doubts = append(t.doubts, doubt{c, since})
		}
	}
}

// doubted returns the time since which an object has had one of its doubts.
func (t *track) doubted(c ready.Cause) time.Time {
	i := slices.IndexFunc(t.doubts, func(d doubt) bool { return d.cause.Same(c) })
	return t.doubts[i].since
}
