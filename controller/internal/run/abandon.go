package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// phaseTime is how long a run may connect, read manifests or plan. A fetch has a limit of its own,
// and a run that writes one for each object.
const phaseTime = 10 * time.Minute

// graceTime is how long a run has to end that is asked to: twice what it needs to finish the writes
// in progress and to save the record.
const graceTime = time.Minute

// AbandonedError reports a run that was asked to end and did not. It writes nothing more.
type AbandonedError struct {
	Phase Phase
	cause error // why it was to end
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("the run does not end (phase %s), and was abandoned: %v", e.Phase, e.cause)
}

// Unwrap returns why the run was to end.
func (e *AbandonedError) Unwrap() error { return e.cause }

// limitPhase ends the run if a phase takes too long.
func (j *job) limitPhase(p Phase) {
	j.run.mutex.Lock()
	defer j.run.mutex.Unlock()
	if j.run.deadline != nil {
		j.run.deadline.Stop()
	}
	if p == Connecting || p == Opening || p == Planning {
		j.run.deadline = time.AfterFunc(phaseTime, func() { j.run.cancel(ErrTooLong) })
	}
}

// abandonLate abandons the run if it does not end a while after its context has ended, until stop
// is called.
func (j *job) abandonLate(ctx context.Context) (stop func()) {
	var mutex sync.Mutex
	var timer *time.Timer
	began, stopped := time.Now(), false
	unwatch := context.AfterFunc(ctx, func() {
		mutex.Lock()
		defer mutex.Unlock()
		if !stopped {
			timer = time.AfterFunc(graceTime, func() { j.abandon(context.Cause(ctx), began) })
		}
	})
	return func() {
		unwatch()
		mutex.Lock()
		defer mutex.Unlock()
		stopped = true
		if timer != nil {
			timer.Stop()
		}
		j.limitPhase("")
	}
}

// abandon ends the run for all but itself: its turn is free, and it has an outcome. What it has in
// memory still counts. Since its context has ended, it writes nothing more.
func (j *job) abandon(cause error, began time.Time) {
	phase := j.run.Progress().Phase
	out := &Outcome{
		Task: j.run.Task, Phase: phase, Began: began, Ended: time.Now(), cause: cause,
		Err: &AbandonedError{phase, cause},
	}
	j.runner.abandoned.add(j.name(), j.run.Task)
	if !j.run.finish(out) { // it has ended meanwhile
		j.runner.abandoned.remove(j.name(), j.run.Task)
		return
	}
	j.run.mutex.Lock()
	slots := j.run.slots
	j.run.mutex.Unlock()
	for _, s := range slots {
		s.close()
	}
	j.runner.Changed(j.name())
}

// abandonedRuns counts the runs that were abandoned and have not ended.
type abandonedRuns struct {
	mutex sync.Mutex
	runs  map[types.NamespacedName]map[Task]int
}

// add counts a run.
func (a *abandonedRuns) add(set types.NamespacedName, task Task) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.runs == nil {
		a.runs = map[types.NamespacedName]map[Task]int{}
	}
	if a.runs[set] == nil {
		a.runs[set] = map[Task]int{}
	}
	a.runs[set][task]++
}

// remove counts a run no longer.
func (a *abandonedRuns) remove(set types.NamespacedName, task Task) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.runs[set][task]--; a.runs[set][task] == 0 {
		delete(a.runs[set], task)
	}
	if len(a.runs[set]) == 0 {
		delete(a.runs, set)
	}
}

// maxAbandoned limits the abandoned runs of one namespace.
const maxAbandoned = 4

// Abandoned returns why no run of a Set may begin: one was abandoned and has not ended, or many of
// its namespace have. It is empty if one may begin.
func (r *Runner) Abandoned(set types.NamespacedName, task Task) string {
	a := &r.abandoned
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if task == Destroy {
		if a.runs[set][Destroy] > 0 {
			return "a run that deletes the objects was abandoned, and has not ended"
		}
		return ""
	}
	if len(a.runs[set]) > 0 {
		return "a run of the Set was abandoned, and has not ended: it takes the time of the " +
			"controller, which begins no other one; suspend or delete the Set, or start the " +
			"controller again"
	}
	number := 0
	for name := range a.runs {
		if name.Namespace == set.Namespace {
			number++
		}
	}
	if number >= maxAbandoned {
		return fmt.Sprintf("runs of %d Sets of the namespace were abandoned, and have not ended",
			number)
	}
	return ""
}
