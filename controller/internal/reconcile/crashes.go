package reconcile

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// mostCrashes is how many crashes in a row a run of a Set may be under way at.
const mostCrashes = 2

// NoteCrashes counts a crash of an earlier process in the status of the Sets whose runs were under
// way. What cannot be written is counted by the next process.
func (r *Reconciler) NoteCrashes(ctx context.Context, crashed []run.Crashed) {
	for _, c := range crashed {
		name := client.ObjectKey{Namespace: c.Namespace, Name: c.Name}
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			return r.noteCrash(ctx, name, c)
		})
		if err == nil {
			err = c.Forget()
		}
		log := ctrl.LoggerFrom(ctx).WithValues("set", name)
		if err != nil {
			log.Error(err, "an earlier process crashed during a run, which was not noted")
			continue
		}
		log.Info("an earlier process crashed during a run")
	}
}

// noteCrash counts a crash in the status of a Set, unless that is another one now.
func (r *Reconciler) noteCrash(ctx context.Context, name client.ObjectKey, c run.Crashed) error {
	set := &v1alpha1.Set{}
	if err := r.Reader.Get(ctx, name, set); err != nil || set.UID != c.UID {
		return client.IgnoreNotFound(err)
	}
	before := set.DeepCopy()
	now := v1alpha1.CrashStatus{Count: 1, Generation: c.Generation, Reconcile: c.Reconcile}
	if was := set.Status.Crashes; was.Generation == c.Generation && was.Reconcile == c.Reconcile {
		now.Count = was.Count + 1
	}
	set.Status.Crashes = now
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, set, patch))
}

// crashedText returns why a Set is put aside: runs of it were under way at the last crashes of the
// controller. It is empty for a Set that is not, or that was changed since.
func crashedText(set *v1alpha1.Set) string {
	c := set.Status.Crashes
	if c.Count < mostCrashes || c.Generation != set.Generation ||
		c.Reconcile != set.Annotations[v1alpha1.AnnotationReconcile] {
		return ""
	}
	return fmt.Sprintf("the controller crashed %d times in a row during a run of this Set, whose "+
		"manifests may take too much memory; make them smaller, then change the Set, or run "+
		"'muster reconcile %s -n %s'", c.Count, set.Name, set.Namespace)
}
