package apps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// packageRecords are the kinds in which packages keep their records, with their labels.
var packageRecords = []struct {
	kind   schema.GroupKind
	labels map[string]string
}{
	{kind: schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}},
	{schema.GroupKind{Kind: "ConfigMap"},
		map[string]string{"cli-utils.sigs.k8s.io/inventory-id": cluster.AnyValue}},
	{schema.GroupKind{Kind: "ConfigMap"},
		map[string]string{"kustomize.config.k8s.io/inventory-id": cluster.AnyValue}},
}

// checkOtherRecords returns an error if changes delete a namespace that holds the record of another
// app or of a package: their objects elsewhere would never be found again. Records that the user
// may not list do not count. It sends requests only if a namespace is to be deleted.
func (r *Run) checkOtherRecords(ctx context.Context) error {
	var problems []string
	deleted := map[string]bool{} // objects, by description
	var namespaces []string
	for _, c := range r.changes {
		if c.ApplyOp() != change.Delete {
			continue
		}
		obj := c.Object()
		deleted[resource.Describe(obj)] = true
		if obj.GroupVersionKind().GroupKind() == namespaceKind {
			namespaces = append(namespaces, obj.GetName())
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		others, err := r.otherRecords(ctx, namespace, deleted)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			problems = append(problems, fmt.Sprintf("namespace '%s' holds the record of %s", namespace,
				strings.Join(others, ", ")))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("Expected namespaces that are deleted to hold no records of others, but %s "+
		"(hint: delete these first, or keep the namespace with annotation '%s: orphan')",
		strings.Join(problems, "; "), resource.AnnDeleteStrategy)
}

// otherRecords returns descriptions of the other apps and of the packages that have their record in
// a namespace.
func (r *Run) otherRecords(
	ctx context.Context, namespace string, deleted map[string]bool,
) ([]string, error) {
	var others []string
	apps, err := r.Records.List(ctx, namespace, nil)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, other := range apps {
		if !sameApp(other, r.app) {
			others = append(others, fmt.Sprintf("app '%s'", other.Name))
		}
	}
	for _, record := range packageRecords {
		found, err := r.Cluster.List(ctx, record.kind, namespace, record.labels)
		if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) ||
			apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, obj := range found {
			if !deleted[resource.Describe(obj)] {
				others = append(others, fmt.Sprintf("package '%s'", obj.GetName()))
			}
		}
	}
	return others, nil
}

func sameApp(a, b *app.App) bool { return a.Name == b.Name && a.Namespace == b.Namespace }
