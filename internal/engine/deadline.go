package engine

import (
	"context"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// settlePeriod is how long a controller has, after we wrote an object, to say anything about it. An object on which nobody
// reports counts as ready then.
const settlePeriod = 2 * time.Second

// unreported says that an object counts as current only because nobody has said otherwise, and that this may be because we
// have only just written it.
func (r *run) unreported(t *track) bool {
	return t.written && t.seen.status.State == ready.Current && t.seen.status.Reason == ready.NotReported
}

// rest gives somebody the time to report on an object, once. It reports whether that time is still running.
func (r *run) rest(i int) bool {
	t := &r.tracks[i]
	if t.rests.IsZero() {
		t.rests = time.Now().Add(settlePeriod)
		r.resting = append(r.resting, i)
	}
	return time.Now().Before(t.rests)
}

// queueOf picks the queue and the timeout of a step. All steps of a queue have the same timeout, so a queue in the order
// of the writes is a queue in the order of the deadlines.
func (r *run) queueOf(i int) (*[]int, time.Duration) {
	if r.plan.Steps[i].Op == plan.Delete {
		return &r.queues[1], r.options.DeleteTimeout
	}
	return &r.queues[0], r.options.ApplyTimeout
}

// setDeadline notes, when the write of a step is over, when its time will be up. Together, all that are waited for begin anew.
func (r *run) setDeadline(i int) {
	queue, timeout := r.queueOf(i)
	if timeout > 0 {
		r.tracks[i].deadline = time.Now().Add(timeout)
		r.latest = r.tracks[i].deadline
		*queue = append(*queue, i)
	}
}

// deadline is when the time of a step is up.
func (r *run) deadline(t *track) time.Time {
	if r.options.Together {
		return r.latest
	}
	return t.deadline
}

// arm sets the timer to the next moment at which a waiting step is due.
func (r *run) arm(timer *time.Timer) {
	timer.Stop()
	var first time.Time
	note := func(queue *[]int, due func(*track) time.Time) {
		for len(*queue) > 0 && !r.tracks[(*queue)[0]].waiting {
			*queue = (*queue)[1:]
		}
		if len(*queue) == 0 {
			return
		}
		if at := due(&r.tracks[(*queue)[0]]); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	note(&r.resting, func(t *track) time.Time { return t.rests })
	for q := range r.queues {
		note(&r.queues[q], r.deadline)
	}
	if at := r.explainDue(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
		first = at
	}
	if !first.IsZero() {
		timer.Reset(time.Until(first))
	}
}

// explainDue is when to look for causes next: a while after waiting began, and then again and again.
func (r *run) explainDue() time.Time {
	switch {
	case r.engine.Explain == nil || r.explaining:
		return time.Time{}
	case r.waiting == 0:
		r.explainAt = time.Time{}
	case r.explainAt.IsZero():
		r.explainAt = time.Now().Add(explainAfter)
	}
	return r.explainAt
}

// expire ends rests that are over, settles the steps whose time is up, and has causes looked for when that is due.
func (r *run) expire(ctx context.Context, now time.Time) {
	if at := r.explainDue(); !at.IsZero() && !at.After(now) {
		r.explainAt = now.Add(explainAgain)
		r.explainWaiting(ctx)
	}
	for len(r.resting) > 0 && !r.tracks[r.resting[0]].rests.After(now) {
		i := r.resting[0]
		r.resting = r.resting[1:]
		if r.tracks[i].waiting {
			r.judge(i)
		}
	}
	for q := range r.queues {
		for len(r.queues[q]) > 0 {
			i := r.queues[q][0]
			if r.tracks[i].waiting {
				if r.deadline(&r.tracks[i]).After(now) {
					break
				}
				r.settle(i, r.late(i), nil)
			}
			r.queues[q] = r.queues[q][1:]
		}
	}
}

// late is how a step ends whose time is up: as failed if it has failed, since it had time enough to recover, and well if
// only its rest was cut short.
func (r *run) late(i int) event.Outcome {
	switch {
	case r.tracks[i].failing:
		return event.Failed
	case r.unreported(&r.tracks[i]):
		return event.Succeeded
	default:
		return event.TimedOut
	}
}
