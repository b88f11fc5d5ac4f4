package engine

import (
	"github.com/muster-deploy/muster/internal/event"
)

// hopeless reports that all that is left to wait for has failed: nothing is being written and nothing can start.
func (r *run) hopeless() bool {
	return r.flying == 0 && r.waiting > 0 && r.failing == r.waiting
}

// giveUp settles the steps that have failed and will not be waited for.
func (r *run) giveUp() {
	for i := range r.tracks {
		if r.tracks[i].failing {
			r.settle(i, event.Failed, nil)
		}
	}
}

// endEarly ends everything that is not being written at this moment, because a step failed and the run is to fail fast.
func (r *run) endEarly(failed int) {
	r.ended = true
	for i := range r.plan.Steps {
		if t := &r.tracks[i]; r.schedule.state[i] != writing && t.acted == "" && r.plan.Steps[i].Op.IsObject() {
			t.acted = event.Skipped
			r.emit(event.Event{Kind: event.Acted, Step: i, Op: r.plan.Steps[i].Op, Outcome: event.Skipped, Blocker: &failed, Early: true})
		}
	}
	r.stop()
}

// stop ends everything that is not being written at this moment.
func (r *run) stop() {
	for i, step := range r.plan.Steps {
		switch {
		case r.schedule.state[i] == writing || r.tracks[i].settled != "":
		case step.Op.IsObject():
			r.settle(i, r.cutShort(), nil)
		default:
			r.tracks[i].settled = r.cutShort()
			r.schedule.settle(i, r.cutShort())
		}
	}
}

// cutShort is how steps end that the end of the run overtakes.
func (r *run) cutShort() event.Outcome {
	if r.interrupted {
		return event.Interrupted
	}
	return event.Skipped
}
