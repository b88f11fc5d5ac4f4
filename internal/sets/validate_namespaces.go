package sets

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// missingNamespaces returns the namespaces that take no objects and in which objects, or the
// record, would be created, with what to do: they neither exist nor are in the set, or are being
// deleted.
func missingNamespaces(
	ctx context.Context, c cluster.Writer, op *Operation, locked bool,
	kubectl func(words ...string) string,
) (map[string]string, error) {
	known := map[string]bool{"": true, op.Locked.Namespace: locked || op.Recorded}
	for name, exists := range op.Plan.Namespaces {
		known[name] = known[name] || exists
	}
	steps := op.Plan.Steps
	for i := range steps {
		if step := &steps[i]; step.Have != nil && step.Have.GetDeletionTimestamp() == nil {
			known[step.Ref.Namespace] = true
		}
		if ref := steps[i].Ref; ref.GroupKind() == plan.NamespaceKind && !steps[i].Op.Removes() {
			known[ref.Name] = true
		}
	}
	names := map[string]bool{}
	var targets []cluster.Target
	need := func(namespace string) {
		if !known[namespace] && !names[namespace] {
			names[namespace] = true
			targets = append(targets, cluster.Target{
				Ref: object.Ref{Kind: plan.NamespaceKind.Kind, Name: namespace},
			})
		}
	}
	need(op.Locked.Namespace)
	for i := range steps {
		if steps[i].Op == plan.Create {
			need(steps[i].Ref.Namespace)
		}
	}
	if len(targets) == 0 {
		return nil, nil
	}
	live, err := c.Read(ctx, targets)
	if apierrors.IsForbidden(err) {
		return nil, nil // whoever may not look at namespaces finds out when the objects are written
	}
	if err != nil {
		return nil, fmt.Errorf("look for the namespaces of the set: %w", err)
	}
	if kubectl == nil {
		kubectl = func(words ...string) string { return "kubectl " + strings.Join(words, " ") }
	}
	missing := map[string]string{}
	for _, target := range targets {
		name, found := target.Ref.Name, live.Objects[target.Ref]
		switch {
		case found == nil:
			missing[name] = fmt.Sprintf("the namespace %s does not exist; add it to the set, or run: %s",
				name, kubectl("create", "namespace", name))
		case found.GetDeletionTimestamp() != nil:
			missing[name] = fmt.Sprintf("the namespace %s is being deleted; apply again when it is gone, "+
				"with the namespace in the set", name)
		}
	}
	return missing, nil
}
