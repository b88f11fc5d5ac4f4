package apps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/preflight"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// preflight runs the preflight checks that the request or the configuration asks for.
func (d *Deployment) preflight(ctx context.Context, changes []*change.Change) error {
	var writes []preflight.PlannedWrite
	for _, c := range changes {
		if op := c.ApplyOp(); op != change.Noop && op != change.Exists {
			writes = append(writes, preflight.PlannedWrite{
				Delete: op == change.Delete, New: c.Applied, Existing: c.Existing,
			})
		}
	}
	return d.checkPlanned(ctx, writes, d.req.Run.ServerSide)
}

// checkPlanned runs the preflight checks on writes. Patches means that updates are patches.
func (d *Deployment) checkPlanned(
	ctx context.Context, writes []preflight.PlannedWrite, patches bool,
) error {
	configured, err := d.config.PreflightChecks(preflight.Exists)
	if err != nil {
		return err
	}
	var names []string
	rulesReview := false
	for _, check := range configured {
		names = append(names, check.Name)
		wanted, err := preflight.ReadConfig(check.Name, check.Config)
		if err != nil {
			return fmt.Errorf("preflight configuration settings failed: %w", err)
		}
		rulesReview = rulesReview || wanted
	}
	if len(d.req.Checks) > 0 {
		names = d.req.Checks
	}
	if len(names) == 0 {
		return nil
	}
	return preflight.Run(ctx, names, writes, preflight.Cluster{
		ServerSideApply: patches, RulesReview: rulesReview, Reviewer: d.Cluster,
		Resource: d.servedResource, Get: d.getObject,
	})
}

// servedResource returns the resource of a kind, and whether the server serves it.
func (c *Client) servedResource(
	ctx context.Context, gvk schema.GroupVersionKind,
) (schema.GroupVersionResource, bool, error) {
	kind, err := c.Cluster.Kind(ctx, gvk.GroupKind())
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return schema.GroupVersionResource{}, false, unknown.Cause
	}
	served := err == nil && slices.Contains(kind.Served, gvk.Version)
	return kind.Resource.GroupResource().WithVersion(gvk.Version), served, err
}

// getObject returns a live object; nil if it does not exist.
func (c *Client) getObject(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	ref := object.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name}
	found, err := c.Cluster.Read(ctx, []cluster.Target{{Ref: ref, Version: gvk.Version}})
	if err != nil {
		return nil, err
	}
	return found.Objects[ref], nil
}
