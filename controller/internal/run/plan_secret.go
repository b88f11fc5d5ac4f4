package run

import (
	"context"
	"fmt"
	"slices"

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
// the permission it stays, and so does a Secret of this name that holds anything else.
func (j *job) removePlan(ctx context.Context, as *clusters.Identity) {
	if j.set.Spec.Cluster == nil || j.set.Spec.Mode != v1alpha1.ModePlan {
		return
	}
	client, err := kubernetes.NewForConfig(as.Config)
	if err != nil {
		return
	}
	secrets, name := client.CoreV1().Secrets(j.set.Namespace), PlanSecret(j.set.Name)
	if found, err := secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && isPlan(found) {
		_ = secrets.Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(string(found.UID)))
	}
}

// isPlan reports whether a Secret is one that writePlan wrote.
func isPlan(secret *corev1.Secret) bool {
	_, plan := secret.Data["plan"]
	_, digest := secret.Data["digest"]
	return secret.Type == corev1.SecretTypeOpaque && plan && digest && len(secret.Data) == 2 &&
		slices.ContainsFunc(secret.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
			return m.Manager == muster.DefaultManager &&
				m.Operation == metav1.ManagedFieldsOperationApply
		})
}
