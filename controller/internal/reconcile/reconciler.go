// Package reconcile decides what happens with Sets: when a run begins, which one takes the place of
// another, and what the status says.
//
// A worker never waits: it starts a run or ends one, writes the status, and returns. What happens
// meanwhile, the end of a run, a changed object, a new revision of a source, brings it back.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/members"
	"github.com/muster-deploy/muster/controller/internal/metrics"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// Reconciler keeps Sets. Its fields must not change once it is set up.
type Reconciler struct {
	Client   client.Client // reads from the cache
	Reader   client.Reader // reads from the server
	Runner   *run.Runner
	Sources  *source.Fetcher
	Members  *members.Watcher
	Recorder events.EventRecorder
	Counts   *metrics.Counts

	Shard string // of the Sets that are kept
	// ArtifactKinds are the kinds of sources with an artifact, as KIND.GROUP.
	ArtifactKinds []string
	base          context.Context // of runs: it ends with the process
	states        states
	kinds         kinds
	wake          chan event.TypedGenericEvent[types.NamespacedName]
}

// Changed brings the worker back to a Set. It does not block for long.
func (r *Reconciler) Changed(set types.NamespacedName) {
	select {
	case r.wake <- event.TypedGenericEvent[types.NamespacedName]{Object: set}:
	case <-r.base.Done():
	}
}

// Touched notes that somebody changed an object of a Set; again says that it was written as before.
func (r *Reconciler) Touched(set types.NamespacedName, again bool) {
	s := r.states.of(set)
	r.states.mutex.Lock()
	s.touch(time.Now(), again)
	r.states.mutex.Unlock()
	r.Changed(set)
}

// staleTime is how long the cache has to catch up with a status that was written.
const staleTime = 20 * time.Millisecond

// Reconcile does what is to be done next about a Set.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) { // the cache is older than the Set
		return ctrl.Result{RequeueAfter: staleTime}, nil
	}
	return result, err
}

// reconcile does what is to be done next about the Set as the cache has it.
func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	set := &v1alpha1.Set{}
	if err := r.Client.Get(ctx, req.NamespacedName, set); err != nil {
		if apierrors.IsNotFound(err) || set.Labels[v1alpha1.LabelShard] != r.Shard {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if set.Labels[v1alpha1.LabelShard] != r.Shard {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	set = set.DeepCopy() // the cache shares its objects
	if s := r.states.of(req.NamespacedName); s.uid != set.UID {
		if s.uid != "" { // what is known is about an earlier Set of the name
			r.forget(req.NamespacedName)
		}
		r.states.of(req.NamespacedName).uid = set.UID
	}
	switch {
	case !set.DeletionTimestamp.IsZero():
		return r.delete(ctx, set)
	case set.Spec.Suspend:
		return r.suspend(ctx, set)
	}
	return r.keep(ctx, set)
}

// forget ends everything about a Set that is gone, or belongs to another shard.
func (r *Reconciler) forget(name types.NamespacedName) {
	if s := r.states.forget(name); s != nil && s.run != nil {
		s.run.Supersede()
	}
	r.Members.Forget(name)
	r.Runner.Pool.Forget(name)
}

// suspend ends the run of a Set that others may change.
func (r *Reconciler) suspend(ctx context.Context, set *v1alpha1.Set) (ctrl.Result, error) {
	s := r.states.of(client.ObjectKeyFromObject(set))
	if s.running() {
		s.run.Supersede()
		return ctrl.Result{}, nil // the end of the run brings the worker back
	}
	r.forget(client.ObjectKeyFromObject(set))
	return ctrl.Result{}, r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		c := conditions{set, status}
		const text = "the Set is suspended: spec.suspend"
		c.is(v1alpha1.ConditionReconciling, false, "Suspended", text)
		if ready := readyOf(set); ready != nil && ready.ObservedGeneration != set.Generation {
			c.unknown(v1alpha1.ConditionReady, "Suspended", text) // of what the Set says now
		}
		c.remove(v1alpha1.ConditionStalled)
	})
}

// keep starts the run of a Set that it needs, and writes the status.
func (r *Reconciler) keep(ctx context.Context, set *v1alpha1.Set) (ctrl.Result, error) {
	name := client.ObjectKeyFromObject(set)
	s := r.states.of(name)
	if s.run != nil && !s.running() { // the cache may not have what was written last
		fresh, err := r.reread(ctx, set)
		if fresh == nil || err != nil {
			return ctrl.Result{}, err
		}
		if set = fresh; set.Spec.Suspend {
			return ctrl.Result{}, nil // the cache is about to bring the worker back
		}
		if err := r.settled(ctx, set, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	if reason, message := r.refuses(ctx, set); reason != "" {
		if s.running() {
			s.run.Supersede()
		}
		s.key = "" // it is deployed again once it can be kept
		return ctrl.Result{}, r.stall(ctx, set, reason, message)
	}
	state, after, err := r.sourceState(ctx, set, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.states.mutex.Lock()
	d := decide(set, s, keyOf(set, state), time.Now())
	if d.compare {
		s.dirty = false
		s.idle++
	}
	r.states.mutex.Unlock()
	if d.supersede {
		s.run.Supersede()
	}
	if d.compare {
		s.run.Compare()
	}
	if d.task != "" && (!d.quiet || s.held) { // a window may open meanwhile
		if blocked := r.blocked(ctx, set); blocked != nil {
			return ctrl.Result{RequeueAfter: after}, r.writeStatus(ctx, set,
				func(status *v1alpha1.SetStatus) { blocked.report(conditions{set, status}) })
		}
	}
	if d.task != "" {
		err = r.start(ctx, set, s, d, keyOf(set, state))
	} else if s.running() {
		err = r.writeProgress(ctx, set, s)
	}
	return ctrl.Result{RequeueAfter: sooner(jittered(sooner(d.after, after)), d.opens)}, err
}

// sooner returns the shorter one of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// keyOf returns what the source and the Set are: a run with another key has something new to do.
func keyOf(set *v1alpha1.Set, sourceState string) string {
	return fmt.Sprintf("%s %d %q\n%s", set.UID, set.Generation,
		set.Annotations[v1alpha1.AnnotationReconcile], sourceState)
}

// sameSpec reports whether two keys differ in the source at most.
func sameSpec(a, b string) bool {
	first, _, _ := strings.Cut(a, "\n")
	second, _, _ := strings.Cut(b, "\n")
	return first == second
}

// reread returns a Set as the server has it; nil if the cache is about to bring the worker back,
// since that is another Set of the name, or one that is not kept any more.
func (r *Reconciler) reread(
	ctx context.Context, cached *v1alpha1.Set,
) (*v1alpha1.Set, error) {
	set := &v1alpha1.Set{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(cached), set); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if set.UID != cached.UID || !set.DeletionTimestamp.IsZero() ||
		set.Labels[v1alpha1.LabelShard] != r.Shard {
		return nil, nil
	}
	return set, nil
}

// start starts a run.
func (r *Reconciler) start(
	ctx context.Context, set *v1alpha1.Set, s *state, d decision, key string,
) error {
	if len(set.Spec.Windows) > 0 { // the cache may not know yet what was applied last
		fresh, err := r.reread(ctx, set)
		if fresh == nil || err != nil {
			return err
		}
		if fresh.Generation != set.Generation {
			return nil // the cache is about to bring the worker back
		}
		set = fresh
	}
	// One that was ready before the controller has started stays so until there is something to write.
	s.silent = !d.quiet && s.last == nil && IsReady(set)
	if !d.quiet && !s.silent {
		err := r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
			c := conditions{set, status}
			c.is(v1alpha1.ConditionReconciling, true, "Running", "the manifests are fetched")
			c.remove(v1alpha1.ConditionStalled)
			if s.last == nil || s.key != key || s.stale { // else why the last run failed is of more interest
				c.unknown(v1alpha1.ConditionReady, "Running", "a run is under way")
			}
		})
		if err != nil {
			return err
		}
	}
	r.states.mutex.Lock()
	defer r.states.mutex.Unlock()
	s.dirty = false
	if s.waitedKey != key {
		s.waited = 0
	}
	s.run = r.Runner.Start(r.base, set, d.task, key, s.waited)
	return nil
}

// BeforeWrite makes sure that a Set which is deleted stays until its objects are gone.
func (r *Reconciler) BeforeWrite(ctx context.Context, running *v1alpha1.Set) error {
	set, err := r.same(ctx, running)
	if err != nil {
		return err
	}
	if controllerutil.ContainsFinalizer(set, v1alpha1.Finalizer) {
		return nil
	}
	if !set.DeletionTimestamp.IsZero() {
		return fmt.Errorf("the Set is being deleted")
	}
	before := set.DeepCopy()
	controllerutil.AddFinalizer(set, v1alpha1.Finalizer)
	return r.Client.Patch(ctx, set,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// BeforeDelete notes in the status what marks the objects that are deleted. When the record is
// gone, nothing else says that a run of the Set has deleted it.
func (r *Reconciler) BeforeDelete(
	ctx context.Context, running *v1alpha1.Set, mark string,
) error {
	set, err := r.same(ctx, running)
	if err != nil || set.Status.Deleting == mark {
		return err
	}
	before := set.DeepCopy()
	set.Status.Deleting = mark
	return r.Client.Status().Patch(ctx, set, client.MergeFrom(before))
}

// same returns a Set as the cache has it. It is an error if that is another one of the name.
func (r *Reconciler) same(ctx context.Context, running *v1alpha1.Set) (*v1alpha1.Set, error) {
	set := &v1alpha1.Set{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(running), set); err != nil {
		return nil, err
	}
	if set.UID != running.UID {
		return nil, errors.New("the Set was deleted, and created again")
	}
	return set, nil
}

// settled takes over the outcome of a run, and writes it to the status.
func (r *Reconciler) settled(ctx context.Context, set *v1alpha1.Set, s *state) error {
	out, key := s.run.Outcome(), s.run.Key
	if out.Overtaken() {
		r.Recorder.Eventf(set, nil, corev1.EventTypeWarning, "Drifted", string(out.Task), "%s",
			run.ErrOvertaken.Error())
	}
	// What an older spec has led to says nothing about the present one, whose run begins next.
	if !out.Superseded() && s.run.Generation == set.Generation {
		if err := r.writeOutcome(ctx, set, s, out); err != nil {
			return err
		}
		// What is written after a failure was not there before, rather than changed by others.
		news := key != s.key || s.last != nil && !s.last.Succeeded()
		r.announce(set, out, news)
		r.count(out, news)
	}
	r.settle(s, set)
	return nil
}

// announce emits the event of an outcome. A comparison that found nothing emits none.
func (r *Reconciler) announce(set *v1alpha1.Set, out *run.Outcome, news bool) {
	kind, reason, text := corev1.EventTypeNormal, "", ""
	switch {
	case out.Err != nil:
		kind, reason, text = corev1.EventTypeWarning, failureReason(out), out.Err.Error()
	case out.Waiting:
		reason, text = "WaitingForApproval", out.Plan.Summary()+": "+out.Plan.Digest
	case !out.Succeeded():
		kind, reason, text = corev1.EventTypeWarning, "Failed", firstFailure(out)
	case out.Held && news:
		reason, text = "WaitingForWindow", heldText(out)
	case len(out.Drifted) > 0:
		kind, reason, text = corev1.EventTypeWarning, "Drifted",
			fmt.Sprintf("objects that differ: %d, first %s", len(out.Drifted), out.Drifted[0].Object)
	case out.Result != nil && out.Result.Written > 0 && !news:
		reason, text = "Corrected", fmt.Sprintf("objects put back: %d", out.Result.Written)
	case out.Result != nil && news:
		reason, text = "Applied", fmt.Sprintf("%s: %s", out.Revision, out.Plan.Summary())
	default:
		return
	}
	r.Recorder.Eventf(set, nil, kind, reason, string(out.Task), "%s", limited(text))
}

// count counts an outcome for the metrics.
func (r *Reconciler) count(out *run.Outcome, news bool) {
	result, written := "succeeded", 0
	if !out.Succeeded() {
		result = "failed"
	}
	if out.Result != nil {
		written = out.Result.Written
	}
	r.Counts.Ran(string(out.Task), result, out.Ended.Sub(out.Began), written)
	if !news {
		r.Counts.Drifted("corrected", written)
		r.Counts.Drifted("reported", len(out.Drifted))
	}
	if failureReason(out) == "PruneHeld" {
		r.Counts.Held()
	}
}
