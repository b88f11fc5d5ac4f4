package cluster

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is what the server, or a definition that is about to be applied, says of one kind.
type Kind struct {
	Resource   schema.GroupVersionResource // in the version in which objects are listed, watched and deleted
	Served     []string                    // the versions that the server serves now; none for a kind that is only known from a definition
	Pending    []string                    // those that a definition adds, until an object was written in one of them
	Namespaced bool
	Listed     bool // its objects can be listed
}

// readable is the version in which objects are read now that are wanted in this one.
func (k Kind) readable(version string) string {
	for _, v := range []string{version, k.Resource.Version} {
		if slices.Contains(k.Served, v) {
			return v
		}
	}
	return k.Served[0]
}

// Versions are those in which objects can be applied: served now, or as soon as their definition is applied.
func (k Kind) Versions() []string { return slices.Concat(k.Served, k.Pending) }

// kindTable is what is known of the server's kindTable.
type kindTable struct {
	known  map[schema.GroupKind]Kind
	broken map[string]error              // groups that the server could not describe, as when an aggregated API is down
	failed map[schema.GroupVersion]error // the same by version
}

// UnknownKindError says that the server does not know a kind, and why that may be so.
type UnknownKindError struct {
	GroupKind schema.GroupKind
	Cause     error // what kept the server from describing the group; nil when it simply is not there
}

func (e *UnknownKindError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("the cluster cannot describe the kind %s now: %v", e.GroupKind, e.Cause)
	}
	return fmt.Sprintf("the cluster does not know the kind %s", e.GroupKind)
}

func (e *UnknownKindError) Unwrap() error { return e.Cause }

// Kind gives what is known of a kind: an *UnknownKindError if that is nothing.
func (c *Client) Kind(ctx context.Context, gk schema.GroupKind) (Kind, error) {
	if err := c.discover(ctx); err != nil {
		return Kind{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind, ok := c.kinds.known[gk]; ok {
		return kind, nil
	}
	return Kind{}, &UnknownKindError{GroupKind: gk, Cause: c.kinds.broken[gk.Group]}
}

// LearnKind takes in the kind that a CustomResourceDefinition defines, so that its objects can be dealt with although the server
// does not serve them yet, at all or in a version that the definition adds. Where the definition drops the version that the
// server prefers, one that it keeps is used instead, or else its first. Other objects are ignored.
func (c *Client) LearnKind(ctx context.Context, crd *unstructured.Unstructured) error {
	spec := map[string]string{}
	for name, path := range map[string][]string{
		"group": {"spec", "group"}, "kind": {"spec", "names", "kind"}, "plural": {"spec", "names", "plural"}, "scope": {"spec", "scope"},
	} {
		spec[name], _, _ = unstructured.NestedString(crd.Object, path...)
	}
	versions := definedVersions(crd)
	if spec["kind"] == "" || spec["plural"] == "" || len(versions) == 0 {
		return nil
	}
	if err := c.discover(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gk := schema.GroupKind{Group: spec["group"], Kind: spec["kind"]}
	if kind, ok := c.kinds.known[gk]; ok {
		c.kinds.known[gk] = kind.with(versions)
	} else if c.kinds.broken[gk.Group] == nil {
		c.kinds.known[gk] = Kind{
			Resource:   schema.GroupVersionResource{Group: spec["group"], Version: versions[0], Resource: spec["plural"]},
			Pending:    versions,
			Namespaced: spec["scope"] == "Namespaced",
			Listed:     true,
		}
	}
	return nil
}

// nowServed takes in that an object was written in a version: if that was coming, the definition holds by now.
func (c *Client) nowServed(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind, ok := c.kinds.known[gvk.GroupKind()]; ok && slices.Contains(kind.Pending, gvk.Version) {
		kind.Served, kind.Pending = kind.Versions(), nil
		c.kinds.known[gvk.GroupKind()] = kind
	}
}

// with is a known kind as it will be when a definition serves these versions of it.
func (k Kind) with(defined []string) Kind {
	k.Pending = nil
	for _, version := range defined {
		if !slices.Contains(k.Served, version) {
			k.Pending = append(k.Pending, version)
		}
	}
	if slices.Contains(defined, k.Resource.Version) {
		return k
	}
	k.Resource.Version = defined[0]
	for _, version := range slices.Backward(k.Served) {
		if slices.Contains(defined, version) {
			k.Resource.Version = version
		}
	}
	return k
}

// Defines reports whether a CustomResourceDefinition has the version of an object served.
func Defines(crd, obj *unstructured.Unstructured) bool {
	return slices.Contains(definedVersions(crd), obj.GroupVersionKind().Version)
}

func definedVersions(crd *unstructured.Unstructured) []string {
	var names []string
	list, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, item := range list {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// discoveryCall is one request for the server's kinds, for all who want to know them at the moment.
type discoveryCall struct {
	done chan struct{} // closed when err is set
	err  error
}

// discover sees to it that the server was asked for its kinds, once.
func (c *Client) discover(ctx context.Context) error { return c.ensureDiscovered(ctx, false) }

// Rediscover asks the server for its kinds anew. What Learn was told stays known.
func (c *Client) Rediscover(ctx context.Context) error { return c.ensureDiscovered(ctx, true) }

// ensureDiscovered sees to it that the server was asked for its kinds, at any time or anew.
func (c *Client) ensureDiscovered(ctx context.Context, anew bool) error {
	c.mu.Lock()
	if c.kinds != nil && !anew {
		c.mu.Unlock()
		return nil
	}
	asked := c.asking
	if asked == nil {
		asked = &discoveryCall{done: make(chan struct{})}
		c.asking = asked
		// It is for all who want to know, so it does not end with one of them; nobody waits for it longer than his context.
		go c.runDiscovery(context.WithoutCancel(ctx), asked)
	}
	c.mu.Unlock()
	select {
	case <-asked.done:
		return asked.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runDiscovery asks the server for its kinds and keeps them. After a failure the next who wants to know them asks again.
func (c *Client) runDiscovery(ctx context.Context, asked *discoveryCall) {
	found, err := c.readKinds(ctx)
	c.mu.Lock()
	c.asking = nil
	if err == nil {
		found.keep(c.kinds)
		c.kinds = found
	}
	c.mu.Unlock()
	asked.err = err
	close(asked.done)
}

// discoveryErrors are the answers of a server that may be able to say which kinds it has a moment later.
var discoveryErrors = []answer{
	{reason: metav1.StatusReasonServiceUnavailable}, {reason: metav1.StatusReasonInternalError},
	{reason: metav1.StatusReasonServerTimeout}, {reason: metav1.StatusReasonTimeout}, {reason: metav1.StatusReasonTooManyRequests},
}

// readKinds reads the server's kinds. Groups that cannot be described leave the others usable. A server that cannot be reached is
// asked once, one that ails several times.
func (c *Client) readKinds(ctx context.Context) (*kindTable, error) {
	offers, err := c.readGroupVersions(ctx)
	if among(discoveryErrors, err) {
		err = c.retry(ctx, func() (err error) {
			offers, err = c.readGroupVersions(ctx)
			return err
		}, discoveryErrors...)
	}
	if err != nil {
		return nil, c.explain(err)
	}
	found := &kindTable{known: map[schema.GroupKind]Kind{}, broken: map[string]error{}, failed: map[schema.GroupVersion]error{}}
	for i := range offers {
		if o := &offers[i]; o.err != nil {
			found.broken[o.Group], found.failed[o.GroupVersion] = o.err, o.err
		} else {
			found.add(o)
		}
	}
	return found, nil
}

// add takes in the resources of one version. Versions come in the order of the server's preference.
func (k *kindTable) add(o *groupVersion) {
	for _, r := range o.resources {
		gk := schema.GroupKind{Group: o.Group, Kind: r.kind}
		kind, ok := k.known[gk]
		if !ok {
			kind = Kind{Resource: o.WithResource(r.name), Namespaced: r.namespaced, Listed: slices.Contains(r.verbs, "list")}
		}
		kind.Served = append(kind.Served, o.Version)
		k.known[gk] = kind
	}
}

// keep takes over what definitions said of kinds that the server does not serve yet.
func (k *kindTable) keep(before *kindTable) {
	if before == nil {
		return
	}
	for gk, old := range before.known {
		kind, ok := k.known[gk]
		switch {
		case len(old.Pending) == 0:
		case !ok:
			old.Served, old.Pending = nil, old.Versions()
			k.known[gk] = old
		default:
			kind.Pending = slices.DeleteFunc(slices.Clone(old.Pending), func(v string) bool { return slices.Contains(kind.Served, v) })
			k.known[gk] = kind
		}
	}
}
