package engine

import (
	"container/heap"
	"context"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
)

// A run does not end well, and prunes nothing, while a workload that it has waited for is not ready
// any more: the step of that is waited for again. So that a workload may crash and recover, or be
// scaled, without anybody hearing of it, this is decided once, when nothing else is waited for.

// countOpen counts the steps whose objects the run has to settle.
func (r *run) countOpen() {
	for i := range r.plan.Steps {
		if r.plan.Steps[i].Op.IsObject() {
			r.open++
		}
	}
}

// closes counts a step that is about to settle, and reports whether it is the last one before
// objects are pruned, or before the run ends.
func (r *run) closes(i int) bool {
	if !r.plan.Steps[i].Op.IsObject() || r.tracks[i].settled != "" {
		return false
	}
	r.open--
	return r.open == 0 || r.schedule.letsPrune(i)
}

// reopenRelapsed waits again for the workloads that are not ready any more. The end of a run that
// fails anyway waits for nothing.
func (r *run) reopenRelapsed() {
	if !r.options.Pods.Check || r.interrupted || r.ended || r.summary.Failures() > 0 {
		return
	}
	for i := range r.tracks {
		if status := r.relapseOf(i); status != nil {
			r.tracks[i].seen.verdict.Status = *status
			r.reopen(i)
		}
	}
}

// relapseOf returns why a workload that the run has waited for is not ready any more, as far as it
// and its pods are watched; nil if it is.
func (r *run) relapseOf(i int) *ready.Status {
	t := &r.tracks[i]
	switch {
	case !r.wasAwaited(i) || t.seen.verdict.Ruled || t.seen.leaving:
		return nil
	case t.seen.verdict.State == ready.InProgress && t.seen.generation != t.generation:
		return nil // others have scaled or changed it since
	case t.seen.verdict.State == ready.InProgress || t.seen.verdict.State == ready.Failed:
		return &t.seen.verdict.Status
	case t.seen.trial == nil || r.related.pods == nil:
		return nil
	}
	now := time.Now().Add(r.engine.Cluster.ClockAhead())
	w := t.seen.trial.workload
	if found := w.Trial(r.related.pods, now); found != nil {
		return &found.Status
	}
	pods := place{GroupKind: podKind, namespace: r.plan.Steps[i].Ref.Namespace}
	with, ok := podLabels(t)
	if ok && r.related.at(pods).watchOf(with, false) == nil && w.MayBeDisturbed(now) {
		return &ready.Status{State: ready.InProgress, Message: podsUnknown}
	}
	return nil
}

// wasAwaited reports whether the step of a pod, or of a workload that has to run for ever, has
// succeeded after a wait. A Job that was suspended may be started by its queue.
func (r *run) wasAwaited(i int) bool {
	t, step := &r.tracks[i], &r.plan.Steps[i]
	kind := step.Ref.GroupKind()
	return t.settled == event.Succeeded && !t.began.IsZero() && step.Op.Applies() &&
		(kind == podKind || ready.RunsPods(kind) && kind.Group != "batch")
}

// watchReady watches the workloads that were ready at once, if the run waits for others: they may
// crash meanwhile.
func (r *run) watchReady(ctx context.Context) {
	if r.waiting+r.pausing == 0 || r.interrupted || r.ended {
		return
	}
	for _, i := range r.atOnce {
		r.watch(ctx, r.groupOf(r.plan.Steps[i].Ref))
	}
	r.atOnce = nil
}

// keep keeps the latest observation of a workload whose step has succeeded. One that others have
// deleted or replaced since is none of the run any more.
func (r *run) keep(i int, seen observation) {
	t := &r.tracks[i]
	if !r.options.Pods.Check || !r.wasAwaited(i) || seen.before(t.seen) {
		return
	}
	if seen.uid != t.seen.uid {
		t.seen.verdict.Status, t.seen.trial, t.began = ready.Of(nil), nil, time.Time{}
		return
	}
	seen.object, seen.children = nil, nil
	t.seen = seen
}

// reopen waits for a step again. It has the time of a step that was just written, once.
func (r *run) reopen(i int) {
	t, now := &r.tracks[i], time.Now()
	t.settled, t.waiting, t.announced, t.explained = "", true, false, false
	t.ready, t.rests, t.stuck, t.certain = time.Time{}, time.Time{}, time.Time{}, certainty{}
	t.doubts, t.causes, t.since, t.changed = nil, nil, now, now
	r.waiting++
	r.open++
	r.schedule.reopen(i)
	if !t.relapsed {
		r.setDeadline(i)
	} else if !t.deadline.IsZero() {
		heap.Push(&r.alarms, alarm{t.deadline, i, expired})
	}
	t.relapsed = true
	heap.Push(&r.alarms, alarm{now, i, rested})
	r.emitStatus(i, false)
}
