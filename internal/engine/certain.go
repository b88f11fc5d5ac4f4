package engine

import (
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

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

// keepDoubts updates the doubts of an object: those that are among its causes.
func (t *track) keepDoubts(causes []ready.Cause, now time.Time) {
	t.doubts = slices.DeleteFunc(t.doubts, func(d doubt) bool {
		return !slices.ContainsFunc(causes, d.cause.Same)
	})
	for _, c := range causes {
		if c.Delay > 0 && !slices.ContainsFunc(t.doubts, func(d doubt) bool { return d.cause.Same(c) }) {
			t.doubts = append(t.doubts, doubt{c, now})
		}
	}
}

// doubted returns the time since which an object has had one of its doubts.
func (t *track) doubted(c ready.Cause) time.Time {
	i := slices.IndexFunc(t.doubts, func(d doubt) bool { return d.cause.Same(c) })
	return t.doubts[i].since
}
