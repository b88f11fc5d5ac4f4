package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// packageRecord is a kind in which packages keep their records, with the labels of these.
type packageRecord struct {
	kind   schema.GroupKind
	labels map[string]string
}

// packageRecords are the kinds in which packages keep their records, that with a definition first.
var packageRecords = []packageRecord{
	{kind: schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}},
	{schema.GroupKind{Kind: "ConfigMap"},
		map[string]string{"cli-utils.sigs.k8s.io/inventory-id": cluster.AnyValue}},
	{schema.GroupKind{Kind: "ConfigMap"},
		map[string]string{"kustomize.config.k8s.io/inventory-id": cluster.AnyValue}},
}

// checkOtherRecords returns an error if changes delete what holds the record of another app or of a
// package: a namespace, or the definition of the kind in which packages keep theirs. The objects of
// such a record would never be found again. What cannot be listed may hold one. It sends requests
// only if such an object is to be deleted.
func (r *Run) checkOtherRecords(ctx context.Context) error {
	var problems []string
	deleted := map[string]bool{} // objects, by description
	var namespaces []string
	defines := false
	for _, c := range r.changes {
		strategy, err := c.Strategy()
		if err != nil || c.ApplyOp() != change.Delete || strategy == change.Orphan {
			continue // the error is reported when the plan is made
		}
		obj := c.Object()
		deleted[resource.Describe(obj)] = true
		if obj.GroupVersionKind().GroupKind() == namespaceKind {
			namespaces = append(namespaces, obj.GetName())
		}
		defined, ok := plan.DefinedKind(obj)
		defines = defines || ok && defined == packageRecords[0].kind
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		others, err := r.otherRecords(ctx, namespace, deleted)
		if unlisted := (*unlistedRecords)(nil); errors.As(err, &unlisted) {
			problems = append(problems, fmt.Sprintf("namespace '%s' may hold the record of %v", namespace,
				unlisted))
			continue
		}
		if err != nil {
			return err
		}
		if len(others) > 0 {
			problems = append(problems, fmt.Sprintf("namespace '%s' holds the record of %s", namespace,
				strings.Join(others, ", ")))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("Expected namespaces that are deleted to hold no records of others, but %s "+
			"(hint: delete these first, or keep the namespace with annotation '%s: orphan')",
			strings.Join(problems, "; "), resource.AnnDeleteStrategy)
	}
	if !defines {
		return nil
	}
	others, err := r.packagesIn(ctx, packageRecords[0], "", deleted)
	if unlisted := (*unlistedRecords)(nil); errors.As(err, &unlisted) {
		return fmt.Errorf("Expected the kind %s not to be deleted with the records of others, but it "+
			"may hold that of %w (hint: keep the definition with annotation '%s: orphan')",
			packageRecords[0].kind, unlisted, resource.AnnDeleteStrategy)
	}
	if err == nil && len(others) > 0 {
		err = fmt.Errorf("Expected the kind %s not to be deleted with the records of others, but %s "+
			"has its record in it (hint: delete these first, or keep the definition with annotation "+
			"'%s: orphan')", packageRecords[0].kind, strings.Join(others, ", "),
			resource.AnnDeleteStrategy)
	}
	return err
}

// otherRecords returns descriptions of the other apps and of the packages that have their record in
// a namespace.
func (r *Run) otherRecords(
	ctx context.Context, namespace string, deleted map[string]bool,
) ([]string, error) {
	var others []string
	apps, err := r.Records.List(ctx, namespace, nil)
	if apierrors.IsForbidden(err) {
		return nil, &unlistedRecords{"an app", err}
	}
	if err != nil {
		return nil, err
	}
	for _, other := range apps {
		if !sameApp(other, r.app) {
			others = append(others, fmt.Sprintf("app '%s'", other.Name))
		}
	}
	for _, record := range packageRecords {
		found, err := r.packagesIn(ctx, record, namespace, deleted)
		if err != nil {
			return nil, err
		}
		others = append(others, found...)
	}
	return others, nil
}

// packagesIn returns descriptions of the packages that have their record in a namespace, empty for
// all, and in a kind.
func (r *Run) packagesIn(
	ctx context.Context, record packageRecord, namespace string, deleted map[string]bool,
) ([]string, error) {
	found, err := r.Cluster.List(ctx, record.kind, namespace, record.labels)
	unknown := (*cluster.UnknownKindError)(nil)
	switch {
	case errors.As(err, &unknown) && unknown.Cause == nil:
		return nil, nil
	case unknown != nil, apierrors.IsForbidden(err):
		return nil, &unlistedRecords{"a package", err}
	case err != nil:
		return nil, err
	}
	var others []string
	for _, obj := range found {
		if !deleted[resource.Describe(obj)] {
			others = append(others, fmt.Sprintf("package '%s'", obj.GetName()))
		}
	}
	return others, nil
}

// unlistedRecords is the error of records of others that cannot be listed.
type unlistedRecords struct {
	of    string // as in: an app
	cause error
}

func (e *unlistedRecords) Error() string {
	return fmt.Sprintf("%s, which cannot be looked for: %v", e.of, e.cause)
}

// Unwrap returns the cause.
func (e *unlistedRecords) Unwrap() error { return e.cause }

func sameApp(a, b *app.App) bool { return a.Name == b.Name && a.Namespace == b.Namespace }
