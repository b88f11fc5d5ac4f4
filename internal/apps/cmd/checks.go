package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/preflight"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// check runs the preflight checks that the flags or the configuration ask for.
func (d *deployment) check(ctx context.Context, changes []*change.Change) error {
	names, err := d.config.PreflightChecks(preflight.Exists)
	if err != nil {
		return err
	}
	if len(d.checks) > 0 {
		names = d.checks
	}
	if len(names) == 0 {
		return nil
	}
	var subjects []preflight.PlannedWrite
	for _, c := range changes {
		if op := c.ApplyOp(); op != change.Noop && op != change.Exists {
			subjects = append(subjects, preflight.PlannedWrite{Delete: op == change.Delete, New: c.Applied, Existing: c.Existing})
		}
	}
	return preflight.Run(ctx, names, subjects, d.checking())
}

// checkList are names of checks, in a flag that may be given several times.
type checkList []string

// Set takes in names with commas between them.
func (l *checkList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !preflight.Exists(name) {
			return fmt.Errorf("unknown preflight check %q specified", name)
		}
		if !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

// String gives them as Set takes them.
func (l *checkList) String() string { return strings.Join(*l, ",") }

// Type is what the help calls them.
func (l *checkList) Type() string { return "strings" }

// checking is what the checks need of the cluster.
func (d *deployment) checking() preflight.Cluster {
	return preflight.Cluster{
		ServerSideApply: d.apply.merges(), Reviewer: d.client,
		Resource: func(ctx context.Context, gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
			kind, err := d.client.Kind(ctx, gvk.GroupKind())
			if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
				return schema.GroupVersionResource{}, false, unknown.Cause
			}
			return kind.Resource.GroupResource().WithVersion(gvk.Version), err == nil && slices.Contains(kind.Served, gvk.Version), err
		},
		Get: func(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
			ref := object.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name}
			found, err := d.client.Read(ctx, []cluster.Target{{Ref: ref, Version: gvk.Version}})
			if err != nil {
				return nil, err
			}
			return found.Objects[ref], nil
		},
	}
}
