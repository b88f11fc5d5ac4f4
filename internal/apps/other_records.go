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

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	// resourceGroupKind is the kind in which packages keep their records.
	resourceGroupKind = schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}
)

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
	groups, err := r.Cluster.List(ctx, resourceGroupKind, namespace, nil)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) ||
		apierrors.IsForbidden(err) {
		err = nil
	}
	for _, group := range groups {
		if !deleted[resource.Describe(group)] {
			others = append(others, fmt.Sprintf("package '%s'", group.GetName()))
		}
	}
	return others, err
}

func sameApp(a, b *app.App) bool { return a.Name == b.Name && a.Namespace == b.Namespace }
