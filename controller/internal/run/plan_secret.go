package run

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// PlanSecret returns the name of the Secret that holds the plan of a Set which waits.
func PlanSecret(set string) string { return "muster-plan-" + set }

// maxPlan limits the size of the text of a plan, in bytes.
const maxPlan = 900 << 10

// writePlan writes a plan that waits for its approval to a Secret in the cluster of the objects, as
// the user of the Set. It goes with the Set, in another cluster with the objects.
func (j *job) writePlan(ctx context.Context, as *clusters.Identity, p *muster.Plan) error {
	client, err := kubernetes.NewForConfig(as.Config)
	if err != nil {
		return err
	}
	text := p.Text()
	if len(text) > maxPlan {
		text = text[:maxPlan] + "\n...\n" + p.Summary() + "\n"
	}
	secret := applycore.Secret(PlanSecret(j.set.Name), j.set.Namespace).
		WithType(corev1.SecretTypeOpaque).
		WithStringData(map[string]string{"plan": text, "digest": p.Digest})
	if j.set.Spec.Cluster == nil {
		secret.WithOwnerReferences(applymeta.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("Set").
			WithName(j.set.Name).WithUID(j.set.UID))
	}
	_, err = client.CoreV1().Secrets(j.set.Namespace).Apply(ctx, secret,
		metav1.ApplyOptions{FieldManager: muster.DefaultManager, Force: true})
	if err != nil {
		return fmt.Errorf("write the plan to Secret %s: %w", PlanSecret(j.set.Name), err)
	}
	return nil
}

// removePlan deletes the plan of a Set from another cluster, where no owner reference does. Without
// the permission it stays.
func (j *job) removePlan(ctx context.Context, as *clusters.Identity) {
	if j.set.Spec.Cluster == nil || j.set.Spec.Mode != v1alpha1.ModePlan {
		return
	}
	if client, err := kubernetes.NewForConfig(as.Config); err == nil {
		_ = client.CoreV1().Secrets(j.set.Namespace).Delete(ctx, PlanSecret(j.set.Name),
			metav1.DeleteOptions{})
	}
}
