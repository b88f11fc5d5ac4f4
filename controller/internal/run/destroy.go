package run

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// destroy deletes the objects of the Set.
func (j *job) destroy(ctx context.Context, as *clusters.Identity, out *Outcome) error {
	j.enter(Planning)
	if why := j.lost(ctx, as); why != "" {
		out.Orphaned = "the objects stay: " + why
		return nil
	}
	opened, err := muster.Open(ctx, as.Cluster, sourceOf(j.set))
	var mark muster.Mark
	if err == nil {
		mark, err = opened.Mark(ctx)
	}
	absent := (*muster.NoRecordError)(nil)
	if errors.As(err, &absent) {
		return j.noRecord(ctx, as, out)
	}
	if err != nil {
		return err
	}
	out.Result, err = opened.Destroy(ctx, muster.DestroyOptions{
		AllowDelete: j.set.Spec.Prune.AllowDelete, Timeout: timeoutOf(j.set.Spec.Wait.Timeout),
		Holder: j.holder(), Check: func(p *muster.Plan) error {
			out.Plan = p
			if err := j.runner.BeforeDelete(ctx, j.set, mark.Text); err != nil {
				return fmt.Errorf("note in the status that the objects are deleted: %w", err)
			}
			j.write(p)
			return nil
		},
	}, j.hear(nil))
	if errors.As(err, &absent) {
		return j.noRecord(ctx, as, out)
	}
	if err != nil || !out.Succeeded() || out.Result == nil {
		return err
	}
	j.removePlan(ctx, as)
	return nil
}

// lost returns why nobody can delete the objects of the Set in another cluster any more; empty if
// somebody may. What the user of the kubeconfig may not read counts as present.
func (j *job) lost(ctx context.Context, as *clusters.Identity) string {
	if as.Owner == nil {
		return "" // the reconciler looks before it starts a run
	}
	server, err := kubernetes.NewForConfig(as.Owner)
	if err != nil {
		return ""
	}
	core, name := server.CoreV1(), j.set.Namespace
	namespace, err := core.Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err == nil && namespace.DeletionTimestamp != nil {
		return "the namespace " + name + " of the other cluster is being deleted, and the record with it"
	}
	if j.serviceAccount == "" {
		return ""
	}
	_, err = core.ServiceAccounts(name).Get(ctx, j.serviceAccount, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "the service account " + j.serviceAccount + " of the other cluster is gone"
	}
	return ""
}

// recordTries is how many runs look for the kind of a record that the server does not have: about
// five minutes. A server that was started again serves definitions a moment later than the rest.
const recordTries = 6

// noRecord notes that the Set has no record, unless the server does not have its kind at the
// moment. If an earlier run has begun to delete the objects, they are gone, and so is the history,
// which goes before the record. Else the history is all that says what the objects were.
func (j *job) noRecord(ctx context.Context, as *clusters.Identity, out *Outcome) error {
	if j.set.Status.Failures < recordTries {
		if _, _, err := as.Cluster.Resource(ctx, RecordOf(j.set)); err != nil {
			return fmt.Errorf("find the record: %w", err)
		}
	}
	if j.set.Status.Deleting == "" {
		out.Orphaned = "there is no record, so that nothing was deleted"
		return nil
	}
	out.Finished = "an earlier run has deleted the objects and the record"
	return nil
}
