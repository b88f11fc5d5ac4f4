package engine

import (
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// patience returns since when a write is retried, for the limit of retries, and the workload of the
// set that serves the webhook which cannot be called: one that may still become ready, nil if there
// is none. While the run waits for one that has not failed, the time is now, and later that when
// such a one became ready: what limits the wait for the workload limits the retries. A run without
// progress is not extended: writes that are repeated would keep it from ending.
func (r *run) patience(i int, now time.Time) (since time.Time, awaited *object.Ref) {
	t := &r.tracks[i]
	since = t.tried
	namespace, name, ok := cluster.UnavailableService(t.err)
	last := r.active
	if r.progress.After(last) {
		last = r.progress
	}
	stall := r.options.Limits.Stall
	if !ok || r.options.DryRun != DryRunNone || stall.Ends() && !now.Before(stall.From(last)) {
		return since, nil
	}
	service := object.Ref{Kind: "Service", Namespace: namespace, Name: name}
	workloads, known := r.serving[service]
	if !known {
		workloads = plan.ServingWorkloads(r.plan.Steps, service)
		if r.serving == nil {
			r.serving = map[object.Ref][]int{}
		}
		r.serving[service] = workloads
	}
	for _, w := range workloads {
		workload := &r.tracks[w]
		if workload.settled == "" && !workload.failing {
			awaited = &r.plan.Steps[w].Ref
		}
		switch {
		case workload.waiting && !workload.failing:
			since = now
		case workload.settled == event.Succeeded && workload.changed.After(since):
			since = workload.changed
		}
	}
	return since, awaited
}
