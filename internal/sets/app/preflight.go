package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/preflight"
)

// CheckPlanned runs the preflight checks on writes. Patches means that updates are patches.
func (s *Set) CheckPlanned(
	ctx context.Context, writes []preflight.PlannedWrite, patches bool,
) error {
	configured, err := s.config.PreflightChecks(preflight.Exists)
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
	if len(s.req.Checks) > 0 {
		names = s.req.Checks
	}
	if len(names) == 0 {
		return nil
	}
	return preflight.Run(ctx, names, writes, preflight.Cluster{
		ServerSideApply: patches, RulesReview: rulesReview, Reviewer: s.Cluster,
		Resource: s.servedResource, Get: s.getObject,
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
