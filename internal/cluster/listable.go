package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Listable is a kind whose objects can be listed.
type Listable struct {
	schema.GroupKind
	Version    string // the one that the server prefers
	Namespaced bool
}

// noise are the kinds of which there are very many objects that nobody deploys; some copy the labels of what they tell of.
var noise = []schema.GroupKind{
	{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}, {Kind: "ComponentStatus"}, {Group: "cilium.io", Kind: "CiliumIdentity"},
}

// Listable gives the kinds that the server serves and lists, sorted by group and kind, without those of objects that nobody
// deploys. Of groups that the server could not describe nothing is known (Complete).
func (c *Client) Listable(ctx context.Context) ([]Listable, error) {
	if err := c.discover(ctx); err != nil {
		return nil, err
	}
	var found []Listable
	c.mu.Lock()
	defer c.mu.Unlock()
	for gk, kind := range c.kinds.known {
		if kind.Listed && len(kind.Served) > 0 && !slices.Contains(noise, gk) {
			found = append(found, Listable{GroupKind: gk, Version: kind.readable(""), Namespaced: kind.Namespaced})
		}
	}
	slices.SortFunc(found, func(a, b Listable) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return found, nil
}

// describeAttempts is how often the server is asked to describe kinds that it cannot describe, before that is an error.
const describeAttempts = 10

// UndescribedError says which kinds the server could not describe, by group and version.
type UndescribedError struct{ Groups map[schema.GroupVersion]error }

func (e *UndescribedError) Error() string {
	return (&discovery.ErrGroupDiscoveryFailed{Groups: e.Groups}).Error()
}

// Complete sees to it that the server has described all its kinds but those of groups that may be missing: nil for none. It asks
// anew, with pauses of a second, as long as that may help; then it gives an *UndescribedError.
func (c *Client) Complete(ctx context.Context, missing func(group string) bool) error {
	if err := c.discover(ctx); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		c.mu.Lock()
		broken := maps.Clone(c.kinds.failed)
		c.mu.Unlock()
		if missing != nil {
			maps.DeleteFunc(broken, func(gv schema.GroupVersion, _ error) bool { return missing(gv.Group) })
		}
		if len(broken) == 0 {
			return nil
		}
		if attempt == describeAttempts {
			return &UndescribedError{broken}
		}
		select {
		case <-time.After(c.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.Rediscover(ctx); err != nil {
			return err
		}
	}
}
