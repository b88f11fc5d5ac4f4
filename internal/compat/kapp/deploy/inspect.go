package deploy

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// InspectRequest asks for the objects of an app.
type InspectRequest struct {
	App    app.Name
	Filter filter.Flags
	Search app.SearchOptions
	Owners bool // keep managed fields
}

// Inspect returns an app and those of its objects that match the filter.
func (c *Client) Inspect(ctx context.Context, r InspectRequest) (*app.App, []liveObject, error) {
	target, err := c.Existing(ctx, r.App)
	if err != nil {
		return nil, nil, err
	}
	matching, err := r.Filter.ResourceFilter(c.Now())
	if err != nil {
		return nil, nil, err
	}
	found, err := c.Objects(ctx, target, r.Search, r.Owners, nil)
	if err != nil {
		return nil, nil, err
	}
	return target, Filter(found, matching), nil
}

// Filter returns the objects that a filter matches; a nil filter matches all.
func Filter(objects []liveObject, matching *filter.ResourceFilter) []liveObject {
	mismatch := func(obj liveObject) bool { return matching != nil && !matching.Matches(obj) }
	return slices.DeleteFunc(slices.Clone(objects), mismatch)
}

// excluding returns the objects that a filter does not match; none without a filter.
func excluding(objects []liveObject, matching *filter.ResourceFilter) []liveObject {
	return slices.DeleteFunc(slices.Clone(objects), func(obj liveObject) bool {
		return matching == nil || matching.Matches(obj)
	})
}

// ConfigMaps returns the ConfigMaps of an app.
func (c *Client) ConfigMaps(ctx context.Context, name app.Name) ([]liveObject, error) {
	return c.existingKinds(ctx, name, schema.GroupKind{Kind: "ConfigMap"})
}

// ServiceAccounts returns the service accounts of an app, its roles and their bindings.
func (c *Client) ServiceAccounts(ctx context.Context, name app.Name) ([]liveObject, error) {
	const rbac = "rbac.authorization.k8s.io"
	return c.existingKinds(
		ctx,
		name,
		schema.GroupKind{Kind: "ServiceAccount"},
		schema.GroupKind{Group: rbac, Kind: "Role"},
		schema.GroupKind{Group: rbac, Kind: "ClusterRole"},
		schema.GroupKind{
			Group: rbac,
			Kind:  "RoleBinding",
		},
		schema.GroupKind{Group: rbac, Kind: "ClusterRoleBinding"},
	)
}

// existingKinds returns the objects of some kinds of an app that must exist.
func (c *Client) existingKinds(
	ctx context.Context, name app.Name, kinds ...schema.GroupKind,
) ([]liveObject, error) {
	target, err := c.Existing(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.ObjectsOf(ctx, target, kinds...)
}

// Unlabeled returns all objects of the cluster without the label "kapp".
func (c *Client) Unlabeled(ctx context.Context) ([]liveObject, error) {
	report := func(text string) { c.Printer.Info(text) }
	return c.Cluster.Select(ctx, cluster.Selection{Selector: "!kapp", Report: report})
}
