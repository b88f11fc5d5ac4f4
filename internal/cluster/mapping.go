package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/object"
)

// Kind describes one kind, as the server or a definition to be applied declares it.
type Kind struct {
	Resource schema.GroupVersionResource // in the version used to list, watch and delete
	// versions that the server serves; none for a kind known from a definition alone
	Served []string
	// versions that a definition adds, until an object was written in one
	Pending    []string
	Namespaced bool
	Listed     bool // its objects can be listed
}

// Fits reports whether an object of the kind may have the namespace, or the lack of one, of a
// reference.
func (k Kind) Fits(ref object.Ref) bool { return k.Namespaced == (ref.Namespace != "") }

// readable returns the served version to read objects in: the given one, if it is served.
func (k Kind) readable(version string) string {
	for _, v := range []string{version, k.Resource.Version} {
		if slices.Contains(k.Served, v) {
			return v
		}
	}
	return k.Served[0]
}

// Versions returns the versions in which objects can be applied, at once or after their definition.
func (k Kind) Versions() []string { return slices.Concat(k.Served, k.Pending) }

// kindTable holds the known kinds of the server.
type kindTable struct {
	known  map[schema.GroupKind]Kind
	broken map[string]error              // by groups that the server could not describe
	failed map[schema.GroupVersion]error // the same by version

	defining    sync.Mutex // held while definitions are read
	definitions definitions
}

// UnknownKindError reports a kind that the server does not know.
type UnknownKindError struct {
	GroupKind schema.GroupKind
	Cause     error // why the server could not describe the group; nil if it has no such kind
	// Similar are kinds of the server that may be meant, the likeliest first.
	Similar []schema.GroupVersionKind
}

func (e *UnknownKindError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("the cluster cannot describe the kind %s now: %v", e.GroupKind, e.Cause)
	}
	return fmt.Sprintf("the cluster does not know the kind %s", e.GroupKind)
}

func (e *UnknownKindError) Unwrap() error { return e.Cause }

// Kind returns the description of a kind, or an *UnknownKindError.
func (c *Client) Kind(ctx context.Context, gk schema.GroupKind) (Kind, error) {
	if err := c.discover(ctx); err != nil {
		return Kind{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind, ok := c.kinds.known[gk]; ok {
		return kind, nil
	}
	unknown := &UnknownKindError{GroupKind: gk, Cause: c.kinds.broken[gk.Group]}
	if unknown.Cause == nil {
		unknown.Similar = c.kinds.similar(gk)
	}
	return Kind{}, unknown
}

// LearnKind adds the kind that a CustomResourceDefinition declares, or the versions that it adds,
// before the server serves them. If the definition drops the version that the server prefers,
// another version of the definition replaces it, if possible a served one. Other objects are
// ignored.
func (c *Client) LearnKind(ctx context.Context, crd *unstructured.Unstructured) error {
	spec := map[string]string{}
	for name, path := range map[string][]string{
		"group": {"spec", "group"}, "kind": {"spec", "names", "kind"},
		"plural": {"spec", "names", "plural"}, "scope": {"spec", "scope"},
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
			Resource: schema.GroupVersionResource{
				Group: spec["group"], Version: versions[0], Resource: spec["plural"],
			},
			Pending:    versions,
			Namespaced: spec["scope"] == "Namespaced",
			Listed:     true,
		}
	}
	return nil
}

// markServed records that an object was written in a version: its definition is in effect.
func (c *Client) markServed(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, ok := c.kinds.known[gvk.GroupKind()]
	if ok && slices.Contains(kind.Pending, gvk.Version) {
		kind.Served, kind.Pending = kind.Versions(), nil
		c.kinds.known[gvk.GroupKind()] = kind
	}
}

// with returns the kind as it will be when a definition serves these versions.
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

// discoveryCall is one discovery in progress, shared by all callers that wait for it.
type discoveryCall struct {
	done chan struct{} // closed when err is set
	err  error
}

// discover reads the server's kinds once.
func (c *Client) discover(ctx context.Context) error { return c.ensureDiscovered(ctx, false) }

// Rediscover reads the server's kinds again. Kinds added by LearnKind stay known.
func (c *Client) Rediscover(ctx context.Context) error { return c.ensureDiscovered(ctx, true) }

// ensureDiscovered reads the server's kinds if they are unknown, or always with force.
func (c *Client) ensureDiscovered(ctx context.Context, force bool) error {
	c.mu.Lock()
	if c.kinds != nil && !force {
		c.mu.Unlock()
		return nil
	}
	asked := c.asking
	if asked == nil {
		asked = &discoveryCall{done: make(chan struct{})}
		c.asking = asked
		// It serves all callers, so it does not end with one of them; each waits for its own
		// context.
		go func() {
			defer crash.Catch(ctx)
			c.runDiscovery(context.WithoutCancel(ctx), asked)
		}()
	}
	c.mu.Unlock()
	select {
	case <-asked.done:
		return asked.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runDiscovery reads the server's kinds and stores them. After a failure the next caller tries
// again.
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

// discoveryErrors are answers of a server that may succeed at discovery a moment later.
var discoveryErrors = []answer{
	{reason: metav1.StatusReasonServiceUnavailable}, {reason: metav1.StatusReasonInternalError},
	{
		reason: metav1.StatusReasonServerTimeout,
	}, {reason: metav1.StatusReasonTimeout}, {reason: metav1.StatusReasonTooManyRequests},
}

// readKinds reads the server's kinds. Groups that cannot be described leave the others usable. It
// retries discoveryErrors and answers that break off, but not an unreachable server.
func (c *Client) readKinds(ctx context.Context) (*kindTable, error) {
	offers, err := c.readGroupVersions(ctx)
	if among(discoveryErrors, err) || BrokenStream(err) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = c.retry(ctx, func() (err error) {
			offers, err = c.readGroupVersions(ctx)
			return err
		}, discoveryErrors...)
	}
	if err != nil {
		return nil, c.explain(err)
	}
	found := &kindTable{
		known:  map[schema.GroupKind]Kind{},
		broken: map[string]error{},
		failed: map[schema.GroupVersion]error{},
	}
	for i := range offers {
		if o := &offers[i]; o.err != nil {
			found.broken[o.Group], found.failed[o.GroupVersion] = o.err, o.err
		} else {
			found.add(o)
		}
	}
	return found, nil
}

// add adds the resources of one version. Versions come in the server's order of preference. Of
// several resources of a kind the one counts whose objects can be read, listed and deleted.
func (k *kindTable) add(o *groupVersion) {
	best := map[string]int{} // index by kind
	for i, r := range o.resources {
		if j, ok := best[r.kind]; !ok || r.uses() > o.resources[j].uses() {
			best[r.kind] = i
		}
	}
	for i, r := range o.resources {
		if best[r.kind] != i {
			continue
		}
		gk := schema.GroupKind{Group: o.Group, Kind: r.kind}
		kind, ok := k.known[gk]
		if !ok {
			kind = Kind{
				Resource:   o.WithResource(r.name),
				Namespaced: r.namespaced,
				Listed:     slices.Contains(r.verbs, "list"),
			}
		}
		kind.Served = append(kind.Served, o.Version)
		k.known[gk] = kind
	}
}

// keep copies the versions that definitions declared and the server does not serve yet.
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
			kind.Pending = slices.DeleteFunc(slices.Clone(old.Pending),
				func(v string) bool { return slices.Contains(kind.Served, v) })
			k.known[gk] = kind
		}
	}
}
