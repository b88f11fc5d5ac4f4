package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ListableKind is a kind whose objects can be listed.
type ListableKind struct {
	schema.GroupKind
	Version    string // the server's preferred one
	Namespaced bool
}

// UnlistedKind is a kind that may have more objects than were found.
type UnlistedKind struct {
	schema.GroupKind
	Namespaces []string // the namespaces in which it could not be listed
	Forbidden  bool     // it could not be listed anywhere
	Cause      error    // why its lists fail for everybody; nil if the user lacks a permission
}

// undeployedKinds have very many objects that nobody deploys. Some copy the labels of the objects
// that they are about.
var undeployedKinds = []schema.GroupKind{
	{
		Kind: "Event",
	}, {Group: "events.k8s.io", Kind: "Event"}, {Kind: "ComponentStatus"},
	{Group: "cilium.io", Kind: "CiliumIdentity"},
}

// ListableKinds returns the kinds that the server can list, sorted by group and kind, except
// undeployedKinds. broken maps the group versions that the server could not describe, as when an
// aggregated API is down, to the reason; their kinds are unknown.
func (c *Client) ListableKinds(
	ctx context.Context,
) (found []ListableKind, broken map[schema.GroupVersion]error, err error) {
	if err := c.discover(ctx); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for gk, kind := range c.kinds.known {
		if kind.Listed && len(kind.Served) > 0 && !slices.Contains(undeployedKinds, gk) {
			found = append(
				found,
				ListableKind{
					GroupKind: gk, Version: kind.readable(""), Namespaced: kind.Namespaced,
				},
			)
		}
	}
	slices.SortFunc(
		found,
		func(a, b ListableKind) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
		},
	)
	return found, maps.Clone(c.kinds.failed), nil
}

// DiscoveryError returns an error that lists group versions that the server could not describe; nil
// for none.
func DiscoveryError(broken map[schema.GroupVersion]error) error {
	if len(broken) == 0 {
		return nil
	}
	var list []string
	for gv, err := range broken {
		list = append(list, fmt.Sprintf("%s: %v", gv, err))
	}
	slices.Sort(list)
	return errors.New(
		"unable to retrieve the complete list of server APIs: " + strings.Join(list, ", "),
	)
}

// undescribed returns those kinds that are unknown because the server cannot describe their group.
// They may have objects.
func (c *Client) undescribed(kinds []schema.GroupKind) []UnlistedKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []UnlistedKind
	for _, gk := range kinds {
		if _, known := c.kinds.known[gk]; !known && c.kinds.broken[gk.Group] != nil {
			found = append(found, UnlistedKind{GroupKind: gk, Cause: c.kinds.broken[gk.Group]})
		}
	}
	return found
}
