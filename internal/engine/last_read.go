package engine

import (
	"container/heap"
	"context"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
)

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
		case k >= done.overdue || !r.tracks[i].waiting:
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
