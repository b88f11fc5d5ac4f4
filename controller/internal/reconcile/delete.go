package reconcile

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
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
	if s.running() {
		if s.run.Task != run.Destroy {
			s.run.Supersede()
		}
		return ctrl.Result{}, nil // the end of the run brings the worker back
	}
	if done, err := r.destroyed(ctx, set, s); done || err != nil {
		return ctrl.Result{}, err
	}
	if why := r.orphans(ctx, set); why != "" {
		return ctrl.Result{}, r.release(ctx, set, "Orphaned", "the objects stay: "+why)
	}
	if wait := time.Until(s.retryAt); s.last != nil && s.last.Task == run.Destroy && wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		c := conditions{set, status}
		c.is(v1alpha1.ConditionReconciling, true, "Deleting", "the objects are deleted")
		c.is(v1alpha1.ConditionReady, false, "Deleting", "the Set is being deleted")
		c.remove(v1alpha1.ConditionStalled)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	r.Members.Forget(name)
	s.run = r.Runner.Start(r.base, set, run.Destroy, "", r.serviceAccount(set))
	return ctrl.Result{}, nil
}

// destroyed takes over the outcome of a run, and reports whether the Set has ended.
func (r *Reconciler) destroyed(
	ctx context.Context, set *v1alpha1.Set, s *state,
) (done bool, err error) {
	if s.run == nil {
		return false, nil
	}
	out := s.run.Outcome()
	if out.Task != run.Destroy {
		s.settle(set, time.Now())
		return false, nil
	}
	if out.Succeeded() {
		text := "the objects are deleted"
		if out.Result != nil && len(out.Result.Left) > 0 {
			text = fmt.Sprintf("%d objects stay, first %s", len(out.Result.Left), out.Result.Left[0])
		}
		return true, r.release(ctx, set, "Deleted", text)
	}
	if why := r.powerless(ctx, set, out); why != "" {
		return true, r.release(ctx, set, "Orphaned", "the objects stay: "+why)
	}
	s.settle(set, time.Now())
	r.announce(set, out, true)
	return false, r.writeOutcome(ctx, set, s, out)
}

// orphans returns why the objects of a Set stay, without any attempt to delete them; empty if they
// do not.
func (r *Reconciler) orphans(ctx context.Context, set *v1alpha1.Set) string {
	if set.Spec.Deletion == v1alpha1.DeletionOrphan {
		return "spec.deletion is Orphan"
	}
	if set.Spec.Suspend {
		return "the Set is suspended"
	}
	if r.serviceAccount(set) == "" {
		return "the Set names no service account"
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Client.Get(ctx, client.ObjectKey{Name: set.Namespace}, namespace)
	if err == nil && !namespace.DeletionTimestamp.IsZero() {
		return "the namespace of the Set is being deleted, and its record with it"
	}
	return ""
}

// powerless returns why nobody can delete the objects any more; empty if somebody can.
func (r *Reconciler) powerless(
	ctx context.Context, set *v1alpha1.Set, out *run.Outcome,
) string {
	forbidden := apierrors.IsForbidden(out.Err)
	if out.Result != nil {
		for _, object := range out.Result.NotReady {
			forbidden = forbidden || apierrors.IsForbidden(object.Err)
		}
	}
	if !forbidden {
		return ""
	}
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	name := r.serviceAccount(set)
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, account)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("the service account %s is gone, and with it the right to delete them", name)
	}
	return ""
}

// release lets a Set end.
func (r *Reconciler) release(
	ctx context.Context, set *v1alpha1.Set, reason, text string,
) error {
	r.Recorder.Eventf(set, nil, corev1.EventTypeNormal, reason, "delete", "%s", limited(text))
	before := set.DeepCopy()
	controllerutil.RemoveFinalizer(set, v1alpha1.Finalizer)
	if err := r.Client.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.forget(client.ObjectKeyFromObject(set))
	return nil
}
