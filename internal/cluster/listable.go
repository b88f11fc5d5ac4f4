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
	slices.SortFunc(found, func(a, b ListableKind) int {
		return compareKinds(a.GroupKind, b.GroupKind)
	})
	return found, maps.Clone(c.kinds.failed), nil
}

func compareKinds(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
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

// hidden returns those kinds that the server does not serve now although they may have objects.
func (c *Client) hidden(ctx context.Context, kinds []schema.GroupKind) (found []UnlistedKind) {
	for _, gk := range kinds {
		if cause := c.WhyHidden(ctx, gk); cause != nil {
			found = append(found, UnlistedKind{GroupKind: gk, Cause: cause})
		}
	}
	return found
}

// WhyHidden returns why a kind may have objects although the server does not serve it: its group
// cannot be described, or MayExist says so. It returns nil if the kind is served, or gone.
func (c *Client) WhyHidden(ctx context.Context, gk schema.GroupKind) error {
	if err := c.discover(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	kind, known := c.kinds.known[gk]
	broken := c.kinds.broken[gk.Group]
	c.mu.Unlock()
	switch {
	case known && len(kind.Served) > 0:
		return nil
	case !known && broken != nil:
		return broken
	default:
		return c.MayExist(ctx, gk)
	}
}
