package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// clusterScope stands in records for objects without a namespace.
const clusterScope = "(cluster)"

// SearchOptions limit the search for the objects of an app.
type SearchOptions struct {
	IgnoreFailing bool // ignore API groups that the server cannot describe or list
	OnlyFallback  bool // search the fallback namespaces alone
	// RecordedKinds searches only the kinds of the record, which cover all objects that exist because
	// of the app. kapp also finds objects of other kinds to which somebody has given the label.
	RecordedKinds bool
}

// Objects returns all objects of an app. With owners they keep their managed fields. The function
// missed, which may be nil, receives the kinds that may have more objects than were found.
func (c *Client) Objects(
	ctx context.Context, target *App, o SearchOptions, owners bool,
	missed func(cluster.UnlistedKind),
) ([]liveObject, error) {
	selection := c.selection(target, o, owners)
	selection.Unlisted = missed
	if used := target.Meta.UsedGKs; o.RecordedKinds && used != nil && len(*used) > 0 {
		selection.Kinds = uniqueKinds(slices.Clone(*used))
	}
	if err := c.awaitDiscovery(ctx, selection.Ignore); err != nil {
		return nil, err
	}
	if err := c.refreshKinds(ctx, target.Kinds()); err != nil {
		return nil, err
	}
	return c.selectObjects(ctx, selection)
}

// ObjectsOf returns the objects of an app that are of the given kinds.
func (c *Client) ObjectsOf(
	ctx context.Context, target *App, kinds ...schema.GroupKind,
) ([]liveObject, error) {
	selection := c.selection(target, SearchOptions{}, false)
	selection.Kinds = kinds
	return c.selectObjects(ctx, selection)
}

// refreshKinds reads again which kinds the server has if one of some kinds is not among them. What
// is known may be as old as the connection, and a kind that does not exist is not searched.
func (c *Client) refreshKinds(ctx context.Context, kinds []schema.GroupKind) error {
	for _, gk := range kinds {
		_, err := c.Cluster.Kind(ctx, gk)
		if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
			return c.Cluster.Rediscover(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// selectObjects returns the objects that match a selection.
func (c *Client) selectObjects(
	ctx context.Context, selection cluster.Selection,
) ([]liveObject, error) {
	found, err := c.Cluster.Select(ctx, selection)
	if failed := (*cluster.ListError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("Listing %#v, namespaced: %t: %w", failed.Resource, failed.Namespaced,
			failed.Cause)
	}
	return found, err
}

// selection returns the selection of all objects of an app: of any kind, in all namespaces. Where
// the user may not list these, it falls back to the namespaces of the last change.
func (c *Client) selection(target *App, o SearchOptions, owners bool) cluster.Selection {
	selection := cluster.Selection{
		Selector: target.Selector(), Fallback: c.FallbackOf(target), OnlyFallback: o.OnlyFallback,
		ManagedFields: owners, Ignore: ignorable(target, o, nil),
		WantedVersion: resource.DeployedVersion,
		Report:        func(text string) { c.Printer.Info(text) },
	}
	if target.Meta.UsedGKs != nil && !target.IsLabelled() {
		selection.Latest = *target.Meta.UsedGKs
	}
	return selection
}

// ignorable returns a function that reports whether a group version may fail. Only the versions
// that the app uses or is going to use must work. An app whose record names none may use any.
func ignorable(
	target *App, o SearchOptions, inputs []resource.Resource,
) func(schema.GroupVersion) bool {
	required := map[schema.GroupVersion]bool{}
	for _, gv := range target.Meta.UsedGVs {
		required[schema.GroupVersion(gv)] = true
	}
	for _, r := range inputs {
		required[r.GroupVersionKind().GroupVersion()] = true
	}
	unknown := !target.IsLabelled() && !target.IsNew &&
		len(target.Meta.UsedGVs) == 0 && target.Meta.UsedGKs == nil
	return func(gv schema.GroupVersion) bool { return o.IgnoreFailing || !unknown && !required[gv] }
}

const (
	discoveryAttempts = 10
	discoveryInterval = time.Second
)

// awaitDiscovery waits until the server can describe all group versions that are not ignorable. An
// aggregated API server may be starting, so it asks several times.
func (c *Client) awaitDiscovery(
	ctx context.Context, ignorable func(schema.GroupVersion) bool,
) error {
	for attempt := 1; ; attempt++ {
		_, broken, err := c.Cluster.ListableKinds(ctx)
		if err != nil {
			return err
		}
		needed := false
		for gv := range broken {
			needed = needed || !ignorable(gv)
		}
		switch {
		case !needed:
			return nil
		case attempt == discoveryAttempts:
			return fmt.Errorf(
				"%w (possibly related issue: https://github.com/vmware-tanzu/carvel-kapp/issues/12)",
				cluster.DiscoveryError(broken),
			)
		}
		select {
		case <-time.After(discoveryInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := c.Cluster.Rediscover(ctx); err != nil {
			return err
		}
	}
}

// FallbackOf returns the namespaces to search where the user may not list all namespaces: the
// default namespace, those of the app's last change, and more.
func (c *Client) FallbackOf(target *App, more ...string) []string {
	var all []string
	seen := map[string]bool{"": true, clusterScope: true}
	for _, namespace := range slices.Concat([]string{c.Namespace},
		target.Meta.LastDeployment.Namespaces, more) {
		if !seen[namespace] {
			seen[namespace] = true
			all = append(all, namespace)
		}
	}
	return all
}

// namespacesOf returns the namespaces of input resources and live objects, sorted.
func namespacesOf(inputs []resource.Resource, existing []liveObject) []string {
	var namespaces []string
	for _, obj := range slices.Concat(Unwrap(inputs), existing) {
		namespaces = append(namespaces, cmp.Or(obj.GetNamespace(), clusterScope))
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// usedKinds returns the versions and kinds of input resources and live objects.
func usedKinds(
	inputs []resource.Resource, existing []liveObject,
) (versions []schema.GroupVersion, kinds []schema.GroupKind) {
	seen := map[schema.GroupVersionKind]bool{}
	for _, obj := range slices.Concat(Unwrap(inputs), existing) {
		if gvk := obj.GroupVersionKind(); !seen[gvk] {
			seen[gvk] = true
			versions, kinds = append(versions, gvk.GroupVersion()), append(kinds, gvk.GroupKind())
		}
	}
	return versions, kinds
}

// Unwrap returns the objects of resources.
func Unwrap(resources []resource.Resource) []liveObject {
	objects := make([]liveObject, len(resources))
	for i, r := range resources {
		objects[i] = r.Unstructured
	}
	return objects
}

// WithoutTransient returns the objects that no controller created.
func WithoutTransient(objects []liveObject) []liveObject {
	return slices.DeleteFunc(slices.Clone(objects), resource.IsTransient)
}

// uniqueKinds sorts kinds and removes duplicates, in place.
func uniqueKinds(kinds []schema.GroupKind) []schema.GroupKind {
	slices.SortFunc(kinds,
		func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}
