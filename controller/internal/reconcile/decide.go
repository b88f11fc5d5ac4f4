package reconcile

import (
	"slices"
	"time"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/window"
)

// decision is what is done next about a Set.
type decision struct {
	task  run.Task      // to start; empty for none
	quiet bool          // the run is a comparison that the status does not announce
	after time.Duration // when to look again; 0 is never by itself
	opens time.Duration // as after, but exactly then: a window opens
	// supersede ends the run that is under way: another one takes its place.
	supersede bool
	// compare lets the run that is under way, and waits, find out what others changed.
	compare bool
}

// decide returns what is done next about a Set that is not being deleted. The key says what the
// source and the Set are now.
func decide(set *v1alpha1.Set, s *state, key string, now time.Time) decision {
	open, opens := window.Open(set.Spec.Windows, now)
	switch {
	case s.running():
		// A run that writes when its window closes finishes: what is new would have to wait anyway.
		d := decision{supersede: s.run.Key != key && (open || !s.run.Writing())}
		if s.run.Key == key {
			d = watch(set, s, open, now)
		}
		return d.until(opens, now)
	case (s.last == nil || sameSpec(s.key, key) && s.key != key && !s.stale) && left(set):
		return decision{task: run.Look, quiet: true} // the version of a source says nothing yet
	case s.last == nil || s.key != key || s.stale || s.held && open:
		return decision{task: first(set)}
	}
	d := repeat(set, s, now)
	if s.held && d.task == "" {
		d = d.until(opens, now)
	}
	return d
}

// until returns the decision, to be made again when a window opens; the zero time is never.
func (d decision) until(opens, now time.Time) decision {
	if !opens.IsZero() {
		d.opens = min(opens.Sub(now.Round(0)), windowLook)
	}
	return d
}

// watch returns when the run that is under way is to look for what others changed: it puts that
// back, unless the window in which it began is over.
func watch(set *v1alpha1.Set, s *state, open bool, now time.Time) decision {
	corrects := set.Spec.Mode != v1alpha1.ModePlan && comparison(set) == run.Deploy &&
		set.Spec.Drift != v1alpha1.DriftIgnore
	if !corrects || !open || !s.dirty || s.run.Task != run.Deploy || !s.run.Idle() {
		return decision{}
	}
	if wait := s.notUntil.Sub(now); wait > 0 {
		return decision{after: wait}
	}
	return decision{compare: true}
}

// windowLook is how often the clock is looked at while something waits for a window: it may have
// been set to another time.
const windowLook = time.Minute

// repeat returns when a run is repeated, or the Set compared with the cluster.
func repeat(set *v1alpha1.Set, s *state, now time.Time) decision {
	switch {
	case !s.last.Succeeded():
		if wait := s.retryAt.Sub(now); wait > 0 {
			return decision{after: wait}
		}
		return decision{task: s.last.Task}
	case set.Spec.Drift == v1alpha1.DriftIgnore && set.Spec.Mode != v1alpha1.ModeObserve:
		return decision{}
	}
	next := never
	if s.dirty {
		next = s.notUntil.Sub(now)
	}
	if interval := intervalOf(set); interval > 0 {
		next = min(next, s.last.Ended.Add(interval).Sub(now))
	}
	switch {
	case next == never:
		return decision{}
	case next > 0:
		return decision{after: next}
	case s.held: // the run finds out whether it may apply, and reports what drifted if not
		return decision{task: first(set), quiet: true}
	default:
		return decision{task: comparison(set), quiet: true}
	}
}

// never is later than everything.
const never = time.Duration(1<<63 - 1)

// first returns the task for something new.
func first(set *v1alpha1.Set) run.Task {
	if set.Spec.Mode == v1alpha1.ModeObserve {
		return run.Look
	}
	return run.Deploy
}

// left reports whether a Set has been applied, and what others have changed meanwhile is not put
// back.
func left(set *v1alpha1.Set) bool {
	if set.Spec.Drift == v1alpha1.DriftCorrect || set.Spec.Drift == "" {
		return false
	}
	if IsReady(set) {
		return true
	}
	ready, r := readyOf(set), set.Status.Revision
	return ready != nil && slices.Contains(comparisonReasons, ready.Reason) &&
		ready.ObservedGeneration == set.Generation && r.Applied != "" && r.Applied == r.Attempted
}

// comparison returns the task that compares a Set with the cluster.
func comparison(set *v1alpha1.Set) run.Task {
	if set.Spec.Drift == v1alpha1.DriftReport || set.Spec.Mode == v1alpha1.ModeObserve {
		return run.Look
	}
	return run.Deploy
}

// stale reports whether a comparison has found that the cluster does not have what the source has:
// another revision, or nothing.
func stale(set *v1alpha1.Set, out *run.Outcome) bool {
	return out.Task == run.Look && set.Spec.Mode != v1alpha1.ModeObserve && out.Err == nil &&
		(out.Absent || out.Revision != set.Status.Revision.Applied)
}

// settle takes over the outcome of a run that has ended.
func (s *state) settle(set *v1alpha1.Set, now time.Time) {
	out, key := s.run.Outcome(), s.run.Key
	waited := s.run.Waited(out.Ended)
	wrote := out.Result != nil && out.Result.Written > 0
	compared := s.run.Compared(wrote)
	s.run, s.waited = nil, 0
	if out.Superseded() {
		s.key = "" // it may have written something
		if out.Overtaken() {
			s.waited, s.waitedKey = waited, key
			s.fights++
			s.fought = now
		}
		return
	}
	same := s.key == key
	s.last, s.key, s.held = out, key, out.Held
	s.stale = stale(set, out)
	if out.Task == run.Destroy || !out.Succeeded() {
		s.failures++
		s.retryAt = now.Add(backoff(set, s.failures))
	} else {
		s.failures, s.retryAt = 0, time.Time{}
	}
	if s.idle++; wrote || !same {
		s.idle = 0
	}
	if same && wrote && out.Succeeded() {
		s.fights++
		s.fought = now
	}
	if !compared || out.Fresh {
		s.touch(now, false)
	}
	s.last = &run.Outcome{Task: out.Task, Revision: out.Revision, Err: out.Err, Ended: out.Ended}
	if out.Result != nil { // the rest is large
		s.last.Result = &muster.Result{Outcome: out.Result.Outcome}
	}
}

// touch notes that an object was changed, or may have been. Again says that it was written as it
// was written before.
func (s *state) touch(now time.Time, again bool) {
	if s.dirty && again {
		return
	}
	if !again || now.Sub(s.touched) > idleMost {
		s.idle = 0
	}
	if now.Sub(s.fought) > correctCalm {
		s.fights = 0
	}
	s.touched = now
	until := now.Add(doubled(settleTime, idleMost, s.idle-1))
	if s.fights > 1 {
		until = now.Add(doubled(correctFirst, defaultMax, s.fights-2))
	}
	if !s.dirty || until.Before(s.notUntil) {
		s.dirty, s.notUntil = true, until
	}
}

// settleTime is how long after a change a Set is looked at, so that changes of many objects are
// one.
const settleTime = 200 * time.Millisecond
