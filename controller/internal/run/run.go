// Package run deploys one Set once, in a goroutine of its own: it fetches the manifests, plans,
// writes, and waits until the objects are ready. So no worker of the controller ever waits.
//
// A run has a slot of the gate while it plans and writes, and gives it back as soon as it only
// waits. A run that is cancelled ends as an interrupted command does: nothing more is written, and
// the record is complete.
package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
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

// Outcome is how a run ended.
type Outcome struct {
	Task     Task
	Revision string // of the source; empty if it could not be fetched
	Record   muster.Object
	Plan     *muster.Plan // nil if there was none
	Waiting  bool         // the plan waits for its approval
	Held     bool         // the plan waits for a window
	Opens    time.Time    // the window that it waits for
	Result   *muster.Result
	Drifted  []muster.Drifted
	Fresh    bool   // objects are watched that were not before
	Absent   bool   // nothing is deployed: there is no record
	Orphaned string // why nothing was destroyed, and is not tried again; else empty
	Finished string // what says that an earlier run has destroyed all; else empty
	Err      error
	Phase    Phase // in which the error was
	Began    time.Time
	Ended    time.Time
	cause    error // of the end of the context
}

// Phase is a part of a run.
type Phase string

// The phases.
const (
	Connecting Phase = "connect"
	Fetching   Phase = "fetch"
	Opening    Phase = "open" // manifests that are no objects, kinds that do not exist
	Planning   Phase = "plan"
	Writing    Phase = "write"
)

// Superseded reports whether another run takes the place of the one that ended.
func (o *Outcome) Superseded() bool {
	return errors.Is(o.cause, ErrSuperseded) || o.Overtaken()
}

// Overtaken reports whether the run ended since somebody changed what it had written.
func (o *Outcome) Overtaken() bool { return errors.Is(o.cause, ErrOvertaken) }

// Succeeded reports whether the run did what it was for.
func (o *Outcome) Succeeded() bool {
	return o.Err == nil && (o.Result == nil || o.Result.Outcome == muster.Succeeded)
}

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
	Ready   int
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

// job is one run of one Set.
type job struct {
	runner         *Runner
	set            *v1alpha1.Set
	run            *Run
	serviceAccount string
	source         muster.Source // with the files that were fetched
	slot           *slot         // of the gate
	ended          func()        // notes in the journal that the run only waits; nil for nothing
	load           *gate.Load    // the memory of the manifests; nil for none
	size           int64         // of the files that were fetched, in bytes
	idle           *time.Timer   // leaves the gate when nothing was written for a while
}

// name returns the name of the Set.
func (j *job) name() types.NamespacedName {
	return types.NamespacedName{Namespace: j.set.Namespace, Name: j.set.Name}
}

// do runs the job, with a slot of the gate until it only waits.
func (j *job) do(ctx context.Context, out *Outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			out.Err, out.Phase = fmt.Errorf("internal error: %v", crash), j.run.Progress().Phase
		}
	}()
	defer j.unload()
	if err := j.slot.enter(ctx); err != nil {
		out.Err, out.Phase = err, Connecting
		return
	}
	defer j.slot.leave()
	out.Err = j.work(ctx, out)
	if out.Err != nil {
		out.Phase = j.run.Progress().Phase
	}
}

// work does the task.
func (j *job) work(ctx context.Context, out *Outcome) error {
	as, err := j.connect(ctx)
	if err != nil {
		return err
	}
	if j.run.Task == Destroy {
		return j.destroy(ctx, as, out)
	}
	if j.ended, err = j.runner.Journal.begin(j.set); err != nil {
		return err
	}
	defer j.ended()
	fetched, opened, err := j.open(ctx, as, out)
	if err != nil {
		return err
	}
	defer fetched.Release()
	out.Record = RecordOf(j.set)
	j.enter(Planning)
	if j.run.Task == Look {
		return j.look(ctx, as, opened, out)
	}
	out.Opens, out.Held = heldUntil(j.set, out.Revision, j.runner.now())
	if out.Held = out.Held && j.run.waited == 0; out.Held {
		return j.hold(ctx, as, opened, out)
	}
	return j.deploy(ctx, as, opened, fetched, out)
}

// connect returns the identity as which the Set is deployed, and makes sure that the kinds of its
// cluster are known. Without a kubeconfig that may be used, nothing is watched with it any longer.
func (j *job) connect(ctx context.Context) (*clusters.Identity, error) {
	j.enter(Connecting)
	as, err := j.runner.Pool.As(ctx, j.set, j.serviceAccount)
	if err != nil {
		j.runner.Members.Forget(j.name())
		return nil, err
	}
	j.runner.Members.ForgetOthers(j.name(), as)
	if j.run.Task == Destroy || j.set.Status.Failures > 0 {
		err = as.Cluster.Rediscover(ctx) // kinds may have been defined since
	} else {
		_, _, err = as.Cluster.Resource(ctx, muster.Object{Kind: "Namespace"})
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return as, nil
}

// open opens the set: with the files of its source, or as the revision that is pinned has it.
func (j *job) open(
	ctx context.Context, as *clusters.Identity, out *Outcome,
) (*source.Fetched, *muster.Set, error) {
	j.source = sourceOf(j.set)
	if pin := int(j.set.Spec.Pin); pin > 0 {
		j.enter(Fetching)
		if err := j.weigh(ctx, pinnedBytes); err != nil {
			return nil, nil, err
		}
		j.enter(Opening)
		out.Revision = fmt.Sprintf("revision %d", pin)
		opened, err := j.reopen(ctx, as)
		return &source.Fetched{Revision: out.Revision, Release: func() {}}, opened, err
	}
	j.enter(Fetching)
	rules, err := j.runner.Sources.Rules(ctx, j.set)
	if err != nil {
		return nil, nil, err
	}
	fetched, err := j.fetch(ctx)
	if err != nil {
		return nil, nil, err
	}
	out.Revision = fetched.Revision
	j.opens(fetched.Revision)
	j.source.Files, j.source.FilesName = []string{fetched.Folder}, fetched.Name
	j.source.Root, j.source.Images, j.source.Rules = fetched.Root, fetched.Images, rules
	opened, err := j.reopen(ctx, as)
	if err != nil {
		fetched.Release()
	}
	return fetched, opened, err
}

// reopen opens the set with the files that were fetched, or as the revision that is pinned has it.
func (j *job) reopen(ctx context.Context, as *clusters.Identity) (*muster.Set, error) {
	if pin := int(j.set.Spec.Pin); pin > 0 {
		return muster.OpenRevision(ctx, as.Cluster, j.source, pin)
	}
	return muster.Open(ctx, as.Cluster, j.source)
}

// look finds out what an apply would do, and what others changed.
func (j *job) look(
	ctx context.Context, as *clusters.Identity, opened *muster.Set, out *Outcome,
) (err error) {
	options := planOptions(j.set)
	if out.Plan, err = opened.Plan(ctx, options); err != nil {
		return err
	}
	j.bind(as, out.Plan)
	out.Drifted, err = opened.Drift(ctx,
		muster.DriftOptions{Ignore: options.Ignore, MembersOnly: true})
	if absent := (*muster.NoRecordError)(nil); errors.As(err, &absent) {
		out.Absent, err = true, nil
	}
	if err == nil {
		j.track(ctx, as, out)
	}
	return err
}

// deploy applies the set, if its mode allows that.
func (j *job) deploy(
	ctx context.Context, as *clusters.Identity, opened *muster.Set, fetched *source.Fetched,
	out *Outcome,
) (err error) {
	options := muster.ApplyOptions{
		PlanOptions: planOptions(j.set), Timeout: j.timeout(),
		Exact:   j.set.Spec.Mode == v1alpha1.ModePlan,
		History: j.history(fetched), Holder: j.holder(), Check: func(p *muster.Plan) error {
			out.Plan = p
			return j.check(ctx, as, p, out)
		},
	}
	written := newWrittenObjects()
	stop := j.compareOnRequest(ctx, as, written)
	out.Result, err = opened.Apply(ctx, options, j.hear(written.add))
	stop()
	if waiting := (*waitingError)(nil); errors.As(err, &waiting) {
		out.Waiting, err = true, nil
	}
	return err
}

// bind makes the digest of a plan that of one for its cluster, if that is another one: an approval
// does not count for still another.
func (j *job) bind(as *clusters.Identity, p *muster.Plan) {
	if j.set.Spec.Cluster != nil {
		p.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.Digest+" "+as.Config.Host)))
	}
}

// waitingError ends an apply whose plan waits for its approval.
type waitingError struct{}

func (*waitingError) Error() string { return "the plan waits for its approval" }

// check looks at the plan before anything is written.
func (j *job) check(
	ctx context.Context, as *clusters.Identity, p *muster.Plan, out *Outcome,
) error {
	j.bind(as, p)
	if j.run.Outcome() != nil { // it was abandoned: another one may be under way
		return ErrTooLong
	}
	if j.unapproved(p) {
		return cmp.Or[error](j.writePlan(ctx, as, p), &waitingError{})
	}
	if len(p.Steps) > 0 { // objects that existed before go with the Set, too
		if err := j.runner.BeforeWrite(ctx, j.set); err != nil {
			return fmt.Errorf("prepare the Set for its deletion: %w", err)
		}
	}
	j.write(p)
	j.track(ctx, as, out)
	if p.Changes() {
		j.runner.Changed(j.name())
	}
	return nil
}

// write notes that a plan is about to be run.
func (j *job) write(p *muster.Plan) {
	j.progress(func(to *Progress) {
		to.Phase, to.Total, to.Changes = Writing, len(p.Steps), p.Changes()
	})
	j.idle.Reset(j.runner.quiet())
}

// track watches the objects of the plan. What cannot be watched is compared at every interval all
// the same, so that it is no error.
func (j *job) track(ctx context.Context, as *clusters.Identity, out *Outcome) {
	if j.set.Spec.Drift == v1alpha1.DriftIgnore || out.Plan == nil {
		return
	}
	var objects []muster.Object
	for _, step := range out.Plan.Steps {
		if step.Source != "" && step.Action != muster.Delete && step.Action != muster.Leave {
			objects = append(objects, step.Object)
		}
	}
	// Without a watch the objects are compared at every interval all the same.
	out.Fresh, _ = j.runner.Members.Track(ctx, j.name(), as, objects)
}

// holder returns how the run is called by those who wait for its lock. The lock of a process that
// was killed is free after less than half a minute.
func (j *job) holder() muster.Holder {
	return muster.Holder{
		Name: j.runner.Name, Command: "controller, " + string(j.run.Task), Wait: time.Minute,
		Waiting: func(string) { j.slot.leave() },
	}
}

// history returns what the history of the set keeps of the run.
func (j *job) history(fetched *source.Fetched) muster.HistoryOptions {
	o := muster.HistoryOptions{Tool: j.runner.Tool}
	if j.set.Spec.Pin > 0 {
		o.Message = fmt.Sprintf("Set %s, pinned to %s", j.name(), fetched.Revision)
	} else if oci := j.set.Spec.Source.OCI; oci != nil {
		separator := ":" // of a tag, which the digest follows
		if strings.HasPrefix(fetched.Revision, "sha256:") {
			separator = "@"
		}
		o.Source, o.Message = oci.URL+separator+fetched.Revision, "Set "+j.name().String()
	} else {
		o.Message = fmt.Sprintf("Set %s from %s", j.name(), fetched.Name)
	}
	if keep := j.set.Spec.History.Keep; keep != nil {
		o.Limit, o.Disabled = int(*keep), *keep == 0
	}
	return o
}
