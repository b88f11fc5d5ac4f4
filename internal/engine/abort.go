package engine

import (
	"time"

	"github.com/muster-deploy/muster/internal/event"
)

// hopeless reports whether all objects that are waited for have failed, while no write is in
// progress and no step can start.
func (r *run) hopeless() bool {
	return r.inFlight == 0 && r.pausing == 0 && r.waiting > 0 && r.failing == r.waiting &&
		!r.hasCertaintyExpired()
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
	if t.acted != "" || !r.plan.Steps[i].Op.IsObject() {
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
	r.settle(i, r.endOutcome(), nil)
}

// stop ends every step that is not being written.
func (r *run) stop() {
	for i, step := range r.plan.Steps {
		switch {
		case r.beingWritten(i) || r.tracks[i].settled != "":
		case step.Op.IsObject():
			r.settle(i, r.endOutcome(), nil)
		default:
			r.tracks[i].settled = r.endOutcome()
			r.schedule.settle(i, r.endOutcome())
		}
	}
}

// endOutcome returns the outcome of steps that are not finished when the run ends.
func (r *run) endOutcome() event.Outcome {
	if r.interrupted {
		return event.Interrupted
	}
	return event.Skipped
}
