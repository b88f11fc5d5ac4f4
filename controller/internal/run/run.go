// Package run deploys one Set once, in a goroutine of its own: it fetches the manifests, plans,
// writes, and waits until the objects are ready. So no worker of the controller ever waits.
//
// A run has a slot of the gate while it plans and writes, and gives it back as soon as it only
// waits. A run that is cancelled ends as an interrupted command does: nothing more is written, and
// the record is complete.
package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/members"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// Task is what a run does.
type Task string

// The tasks.
const (
	Deploy  Task = "deploy"  // apply what the source has, as the mode of the Set says
	Look    Task = "look"    // find out what others changed
	Destroy Task = "destroy" // delete all objects
)

// The causes of the end of a run in whose place another one begins.
var (
	ErrSuperseded = errors.New("a newer revision of the source or of the Set takes its place")
	ErrOvertaken  = errors.New("somebody has changed what it wrote; the next run puts it back")
)

// Runner runs Sets. Its fields must not change once it is used.
type Runner struct {
	Pool    *clusters.Pool
	Gate    *gate.Gate
	Sources *source.Fetcher
	Members *members.Watcher
	Name    string // of this process, for those who wait for a lock
	Tool    string // name and version, for the history
	// BeforeWrite is called right before the first write of a Set.
	BeforeWrite func(ctx context.Context, set *v1alpha1.Set) error
	// BeforeDelete is called before the objects of a Set are deleted, with what marks them.
	BeforeDelete func(ctx context.Context, set *v1alpha1.Set, mark string) error
	// Changed is called, from any goroutine, when there is news of a run. It must not block.
	Changed func(set types.NamespacedName)
	// Quiet is how long a run has a slot without writing anything; 0 means five seconds.
	Quiet time.Duration
	// Now returns the time, by which windows are open; nil means time.Now.
	Now func() time.Time
	// Bytes limits the memory of manifests in work; nil is without limit.
	Bytes *gate.Bytes
	// Journal has the runs that are under way, for the process after a crash; nil for none.
	Journal *Journal
	// DefaultServiceAccount is that of Sets which name none; empty for none.
	DefaultServiceAccount string

	running   sync.WaitGroup
	abandoned abandonedRuns
}

// ServiceAccount returns the service account as which a Set is deployed; empty for none. The
// default is one of the controller's cluster.
func (r *Runner) ServiceAccount(set *v1alpha1.Set) string {
	if set.Spec.ServiceAccountName != "" || set.Spec.Cluster != nil {
		return set.Spec.ServiceAccountName
	}
	return r.DefaultServiceAccount
}

// now returns the time.
func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// Wait waits until all runs have ended.
func (r *Runner) Wait() { r.running.Wait() }

// Run is a run that was started.
type Run struct {
	Task       Task
	Key        string        // that Start was called with
	Generation int64         // of the spec
	Request    string        // of a user, by the annotation
	waited     time.Duration // by runs that it continues
	cancel     context.CancelCauseFunc
	compare    chan struct{}
	done       chan struct{}
	deadline   *time.Timer // of the phase

	mutex    sync.Mutex
	slots    []*slot // of the gate
	revision string  // of the source, once it is fetched
	progress Progress
	asked    bool // to compare, and has not done so
	compared bool // since the last write
	wrote    time.Time
	outcome  *Outcome
}

// Progress is how far a run is.
type Progress struct {
	Phase   Phase
	Changes bool // something is written
	Idle    bool // what could be written for now is written
	Total   int
	Written int
	Causes  []Cause // of what is not ready
}

// Cause is why an object is not ready.
type Cause struct {
	Object  muster.Object
	Message string
}

// Start starts a run of a Set, which must not change: all that the run does, and as whom, is what
// this Set says. If it continues runs that were overtaken, waited is how long they have waited; it
// waits so much shorter, and for no window.
func (r *Runner) Start(
	ctx context.Context, set *v1alpha1.Set, task Task, key string, waited time.Duration,
) *Run {
	ctx, cancel := context.WithCancelCause(ctx)
	started := &Run{
		Task: task, Key: key, Generation: set.Generation, waited: waited, cancel: cancel,
		Request: set.Annotations[v1alpha1.AnnotationReconcile],
		compare: make(chan struct{}, 1), done: make(chan struct{}),
	}
	one := &job{runner: r, set: set, run: started, serviceAccount: r.ServiceAccount(set)}
	one.slot = one.newSlot()
	stop := one.abandonLate(ctx)
	r.running.Go(func() {
		outcome := &Outcome{Task: task, Began: time.Now()}
		one.do(ctx, outcome)
		outcome.Ended, outcome.cause = time.Now(), context.Cause(ctx)
		if outcome.Err != nil && errors.Is(outcome.cause, ErrTooLong) {
			outcome.Err = outcome.cause
		}
		stop()
		cancel(nil)
		if !started.finish(outcome) {
			r.abandoned.remove(one.name(), task)
		}
		r.Changed(one.name())
	})
	return started
}

// finish notes how the run ended, and reports whether it was under way until now.
func (r *Run) finish(out *Outcome) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.outcome != nil {
		return false
	}
	r.outcome = out
	close(r.done)
	return true
}

// Supersede ends the run, unless it has ended.
func (r *Run) Supersede() { r.cancel(ErrSuperseded) }

// Outcome returns how the run ended, nil as long as it runs.
func (r *Run) Outcome() *Outcome {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.outcome
}

// Revision returns the revision of the source that the run has fetched; empty until then.
func (r *Run) Revision() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.revision
}

// Writing reports whether the run has begun to write, or waits until what it wrote is ready.
func (r *Run) Writing() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.outcome == nil && r.progress.Phase == Writing
}

// Done returns a channel that is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Progress returns how far the run is.
func (r *Run) Progress() Progress {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.progress
	p.Causes = append([]Cause(nil), p.Causes...)
	return p
}
