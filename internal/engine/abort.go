package engine

import (
	"github.com/muster-deploy/muster/internal/event"
)

// hopeless reports that all that is left to wait for has failed: nothing is being written and nothing can start.
func (r *run) hopeless() bool {
	return r.inFlight == 0 && r.pausing == 0 && r.waiting > 0 && r.failing == r.waiting
}

// giveUp settles the steps that have failed and will not be waited for.
func (r *run) giveUp() {
	for i := range r.tracks {
		if r.tracks[i].failing {
			r.settle(i, event.Failed, nil)
		}
	}
}

// endsRun reports whether a step that has settled badly ends the run.
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

// endEarly ends everything that is not being written at this moment, because of a step that ended badly.
func (r *run) abort(failed int) {
	r.ended, r.endedBy = true, failed
	for i := range r.plan.Steps {
		if !r.beingWritten(i) {
			r.skipAborted(i)
		}
	}
	r.stop()
}

// skipEarly tells of a step that was not carried out that it never will be, as the run has ended.
func (r *run) skipAborted(i int) {
	t := &r.tracks[i]
	if t.acted != "" || !r.plan.Steps[i].Op.IsObject() {
		return
	}
	t.acted = event.Skipped
	r.emit(event.Event{Kind: event.Acted, Step: i, Op: r.plan.Steps[i].Op, Outcome: event.Skipped, Blocker: &r.endedBy, RunEnded: true})
}

// beingWritten reports whether a worker has a step, and will tell how it went.
func (r *run) beingWritten(i int) bool {
	return r.schedule.state[i] == writing && r.tracks[i].pause == ""
}

// cut ends a step that would have gone on later, as the run has ended.
func (r *run) endPaused(i int) {
	if r.ended {
		r.skipAborted(i)
	}
	r.settle(i, r.endOutcome(), nil)
}

// stop ends everything that is not being written at this moment.
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

// cutShort is how steps end that the end of the run overtakes.
func (r *run) endOutcome() event.Outcome {
	if r.interrupted {
		return event.Interrupted
	}
	return event.Skipped
}
