package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// delete deletes the objects of a Set that is being deleted, and then lets the Set end. It always
// ends: objects that nobody can delete any more stay, and an event says so.
func (r *Reconciler) delete(ctx context.Context, set *v1alpha1.Set) (ctrl.Result, error) {
	name := client.ObjectKeyFromObject(set)
	s := r.states.of(name)
	if !controllerutil.ContainsFinalizer(set, v1alpha1.Finalizer) {
		r.forget(name)
		return ctrl.Result{}, nil
	}
	cluster, err := r.kubeconfigState(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	key := keyOf(set, cluster)
	if s.running() {
		if s.run.Task != run.Destroy || s.run.Key != key || r.orphans(ctx, set) != "" {
			s.run.Supersede()
		}
		return ctrl.Result{RequeueAfter: orphanLook}, nil // or the end of the run
	}
	r.Members.Forget(name)
	if done, err := r.destroyed(ctx, set, s); done || err != nil {
		return ctrl.Result{}, err
	}
	if why := r.orphans(ctx, set); why != "" {
		return ctrl.Result{}, r.release(ctx, set, "Orphaned", "the objects stay: "+why)
	}
	same := s.last != nil && s.last.Task == run.Destroy && s.key == key
	if wait := time.Until(s.retryAt); same && wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if why := r.Runner.Abandoned(name, run.Destroy); why != "" {
		return ctrl.Result{}, r.stall(ctx, set, "RunAbandoned", why) // its end brings the worker back
	}
	err = r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		c := conditions{set, status}
		c.is(v1alpha1.ConditionReconciling, true, "Deleting", "the objects are deleted")
		c.is(v1alpha1.ConditionReady, false, "Deleting", "the Set is being deleted")
		c.remove(v1alpha1.ConditionStalled)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	s.run = r.Runner.Start(r.base, set, run.Destroy, key, 0)
	return ctrl.Result{}, nil
}

// orphanLook is the time between two looks at whether the objects of a Set stay after all: nobody
// reports that its namespace or its service account goes while they are deleted.
const orphanLook = 10 * time.Second

// destroyed takes over the outcome of a run, and reports whether the Set has ended.
func (r *Reconciler) destroyed(
	ctx context.Context, set *v1alpha1.Set, s *state,
) (done bool, err error) {
	if s.run == nil {
		return false, nil
	}
	out := s.run.Outcome()
	if out.Task != run.Destroy || out.Superseded() || s.run.Generation != set.Generation {
		r.settle(s, set)
		return false, nil
	}
	if out.Orphaned != "" {
		return true, r.release(ctx, set, "Orphaned", out.Orphaned)
	}
	if out.Finished != "" {
		return true, r.release(ctx, set, "Deleted", out.Finished)
	}
	stays := staying(out.Result)
	if out.Succeeded() || onlyLeft(out, stays) {
		text := "the objects are deleted"
		if len(stays) > 0 {
			text = fmt.Sprintf("objects that stay: %d, first %s", len(stays), stays[0])
		}
		if out.Result != nil && out.Result.Warning != "" {
			text += "; " + out.Result.Warning
		}
		return true, r.release(ctx, set, "Deleted", text)
	}
	if err := r.writeOutcome(ctx, set, s, out); err != nil {
		return false, err
	}
	r.announce(set, out, true)
	r.settle(s, set)
	return false, nil
}

// staying returns what a run does not delete: what others have taken over, or have written into the
// record although it is not of the set, and what is retained.
func staying(result *muster.Result) (steps []muster.Step) {
	if result == nil || result.Plan == nil {
		return nil
	}
	for _, step := range result.Plan.Steps {
		if step.Action == muster.Leave || step.Action == muster.Release {
			steps = append(steps, step)
		}
	}
	return steps
}

// onlyLeft reports whether a run has deleted everything but what stays.
func onlyLeft(out *run.Outcome, stays []muster.Step) bool {
	if out.Err != nil || out.Result == nil || out.Result.Outcome != muster.Failed {
		return false
	}
	return !slices.ContainsFunc(out.Result.NotReady, func(object muster.NotReady) bool {
		return !slices.ContainsFunc(stays, func(step muster.Step) bool {
			return step.Object == object.Object
		})
	})
}

// orphans returns why the objects of a Set stay, without any attempt to delete them; empty if they
// do not.
func (r *Reconciler) orphans(ctx context.Context, set *v1alpha1.Set) string {
	if set.Spec.Deletion == v1alpha1.DeletionOrphan {
		return "spec.deletion is Orphan"
	}
	if set.Spec.Mode == v1alpha1.ModeObserve {
		return "spec.mode is Observe"
	}
	if set.Spec.Suspend {
		return "the Set is suspended"
	}
	if r.Runner.ServiceAccount(set) == "" && set.Spec.Cluster == nil {
		return "the Set names no service account"
	}
	if other := r.sameRecord(ctx, set, false); other != "" {
		return "Set " + other + " has the same record"
	}
	namespace := &corev1.Namespace{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: set.Namespace}, namespace)
	deleted := err == nil && !namespace.DeletionTimestamp.IsZero()
	switch {
	case deleted && set.Spec.Cluster != nil:
		return "the namespace of the Set is being deleted, and the kubeconfig of its cluster with it"
	case deleted:
		return "the namespace of the Set is being deleted, and its record with it; what is in other " +
			"namespaces, or in none, is not deleted"
	case set.Spec.Cluster != nil:
		return r.disconnected(ctx, set)
	}
	account := &corev1.ServiceAccount{}
	name := client.ObjectKey{Namespace: set.Namespace, Name: r.Runner.ServiceAccount(set)}
	if apierrors.IsNotFound(r.Reader.Get(ctx, name, account)) {
		return "the service account " + name.Name + " is gone"
	}
	return ""
}

// disconnected returns why there is no kubeconfig of the other cluster of a Set; empty if there is
// one. A run finds out what is gone in that cluster.
func (r *Reconciler) disconnected(ctx context.Context, set *v1alpha1.Set) string {
	_, err := clusters.ReadKubeconfig(ctx, r.Reader, set)
	if apierrors.IsNotFound(err) {
		return "the kubeconfig of the other cluster is gone: Secret " +
			set.Spec.Cluster.KubeconfigSecretRef.Name
	}
	if refused := (*clusters.KubeconfigError)(nil); errors.As(err, &refused) {
		return "there is no kubeconfig of the other cluster: " + refused.Error()
	}
	return "" // an error of the server may be gone the next time
}

// settle takes over the outcome of a run.
func (r *Reconciler) settle(s *state, set *v1alpha1.Set) {
	r.states.mutex.Lock()
	defer r.states.mutex.Unlock()
	s.settle(set, time.Now())
}

// release lets a Set end. The log says why, too: a namespace that is being deleted takes no events.
func (r *Reconciler) release(
	ctx context.Context, set *v1alpha1.Set, reason, text string,
) error {
	ctrl.LoggerFrom(ctx).Info("the Set ends", "reason", reason, "message", limited(text))
	r.Recorder.Eventf(set, nil, corev1.EventTypeNormal, reason, "delete", "%s", limited(text))
	before := set.DeepCopy()
	controllerutil.RemoveFinalizer(set, v1alpha1.Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, set, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.forget(client.ObjectKeyFromObject(set))
	return nil
}
