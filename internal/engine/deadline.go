package engine

import (
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// queueOf picks the queue and the timeout of a step. All steps of a queue have the same timeout, so a queue in the order
// of the writes is a queue in the order of the deadlines.
func (r *run) queueOf(i int) (*[]int, time.Duration) {
	if r.plan.Steps[i].Op == plan.Delete {
		return &r.queues[1], r.options.DeleteTimeout
	}
	return &r.queues[0], r.options.ApplyTimeout
}

func (r *run) setDeadline(i int) {
	queue, timeout := r.queueOf(i)
	if timeout > 0 {
		r.tracks[i].deadline = time.Now().Add(timeout)
		*queue = append(*queue, i)
	}
}

// arm sets the timer to the first deadline of the steps that are still waiting.
func (r *run) arm(timer *time.Timer) {
	timer.Stop()
	var first time.Time
	for q := range r.queues {
		for len(r.queues[q]) > 0 && !r.tracks[r.queues[q][0]].waiting {
			r.queues[q] = r.queues[q][1:]
		}
		if len(r.queues[q]) == 0 {
			continue
		}
		if due := r.tracks[r.queues[q][0]].deadline; first.IsZero() || due.Before(first) {
			first = due
		}
	}
	if !first.IsZero() {
		timer.Reset(time.Until(first))
	}
}

// expire settles the steps whose time is up.
func (r *run) expire(now time.Time) {
	for q := range r.queues {
		for len(r.queues[q]) > 0 {
			i := r.queues[q][0]
			if r.tracks[i].waiting {
				if r.tracks[i].deadline.After(now) {
					break
				}
				outcome := event.TimedOut
				if r.tracks[i].failing {
					outcome = event.Failed // it had time enough to recover
				}
				r.settle(i, outcome, nil)
			}
			r.queues[q] = r.queues[q][1:]
		}
	}
}
