// Package preflight holds the checks that kapp makes, where they are asked for, before it changes anything: whether the user
// may do all that is planned, and whether definitions can be upgraded without losing objects. It only asks; what it needs of the
// cluster is handed in.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of the checks.
const (
	PermissionValidation = "PermissionValidation"
	CRDUpgradeSafety     = "CRDUpgradeSafety"
)

// parallel is how many questions are asked of the cluster at once.
const parallel = 16

// AccessReviewer says whether the user may do something. An empty name asks for all objects, an empty namespace for all namespaces or
// for an object that has none.
type AccessReviewer interface {
	Allowed(ctx context.Context, verb, group, resource, subresource, namespace, name string) (bool, error)
}

// Cluster is what the checks need of the cluster. All of it is called by several at once.
type Cluster struct {
	// ServerSideApply says that objects that are there are changed by server-side apply.
	ServerSideApply bool
	Reviewer        AccessReviewer
	// Resource gives the resource of a kind in its version; false if the cluster does not serve it.
	Resource func(ctx context.Context, gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool, error)
	// Get reads an object, whose namespace is empty if it has none; nil if it is not there.
	Get func(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
}

// PlannedWrite is one object that is to be created or updated, or deleted. Of the two objects, one may be nil: Existing of one that is
// created, New of one that is deleted.
type PlannedWrite struct {
	Delete        bool
	New, Existing *unstructured.Unstructured
}

// object is the one that the change is about.
func (s PlannedWrite) object() *unstructured.Unstructured {
	if s.Delete && s.Existing != nil || s.New == nil {
		return s.Existing
	}
	return s.New
}

// CheckNames gives the names of all checks.
func CheckNames() []string { return []string{CRDUpgradeSafety, PermissionValidation} }

// Exists reports whether there is a check of this name.
func Exists(name string) bool { return slices.Contains(CheckNames(), name) }

// Run makes the checks that are named, in their order, and ends with the first that fails: with kapp's text, in which what is
// wrong with the subjects stands in their order, a line each.
func Run(ctx context.Context, names []string, subjects []PlannedWrite, deps Cluster) error {
	for _, name := range names {
		var err error
		switch name {
		case PermissionValidation:
			err = checkPermissions(ctx, subjects, deps)
		case CRDUpgradeSafety:
			err = checkDefinitions(ctx, subjects, deps)
		default:
			return fmt.Errorf("unknown preflight check %q specified", name)
		}
		if err != nil {
			return fmt.Errorf("preflight checks failed: running preflight check %q: %w", name, err)
		}
	}
	return nil
}

// each calls f for every number below count, a few at once, waits for all, and joins their errors in order.
func forEach(ctx context.Context, count int, f func(i int) error) error {
	failed := make([]error, count)
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			failed[i] = f(i)
			return nil
		})
	}
	_ = group.Wait() // the functions keep their errors in failed
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(failed...)
}
