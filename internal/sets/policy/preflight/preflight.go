// Package preflight makes the optional checks of kapp before a deployment: whether the user has
// all permissions, and whether definitions can be upgraded without losing objects. It only reads,
// through functions that the caller provides.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
)

// The names of the checks.
const (
	PermissionValidation = "PermissionValidation"
	CRDUpgradeSafety     = "CRDUpgradeSafety"
)

// parallel is the number of concurrent requests.
const parallel = 16

// Cluster is the access of the checks to a cluster. Its functions are called concurrently.
type Cluster struct {
	// ServerSideApply is true if existing objects are updated by server-side apply.
	ServerSideApply bool
	// RulesReview is true if permissions are listed once for each namespace, instead of asked for one
	// by one.
	RulesReview bool
	Reviewer    cluster.Reader
	// Resource returns the resource of a kind in its version, and false if the cluster does not
	// serve it.
	Resource func(ctx context.Context, gvk schema.GroupVersionKind) (
		schema.GroupVersionResource, bool, error)
	// Get returns an object, or nil if it does not exist. The namespace is empty for an object
	// without one.
	Get func(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (
		*unstructured.Unstructured, error)
}

// PlannedWrite is an object to create, update or delete. Existing is nil for one to create, New
// for one to delete.
type PlannedWrite struct {
	Delete        bool
	New, Existing *unstructured.Unstructured
}

// object returns the object of the write.
func (s PlannedWrite) object() *unstructured.Unstructured {
	if s.Delete && s.Existing != nil || s.New == nil {
		return s.Existing
	}
	return s.New
}

// CheckNames returns the names of all checks.
func CheckNames() []string { return []string{CRDUpgradeSafety, PermissionValidation} }

// Exists reports whether there is a check of this name.
func Exists(name string) bool { return slices.Contains(CheckNames(), name) }

// Run makes the named checks in order and returns the error of the first that fails. The error is
// kapp's; it has one line for each problem, in the order of the writes.
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

// forEach calls f for every number below count, a few at a time, and joins the errors in order.
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
