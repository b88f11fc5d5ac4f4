package enginetest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Everywhere stands in Cluster.Unlistable for all namespaces.
const Everywhere = "*"

// Serve adds a kind in version v1 to those that the server has.
func (c *Cluster) Serve(gk schema.GroupKind, namespaced bool) {
	if c.Kinds == nil {
		c.Kinds = map[schema.GroupKind]cluster.Kind{}
	}
	resource := strings.ToLower(gk.Kind) + "s"
	c.Kinds[gk] = cluster.Kind{
		Resource: schema.GroupVersionResource{Group: gk.Group, Version: "v1", Resource: resource},
		Served:   []string{"v1"}, Namespaced: namespaced, Listed: true,
	}
}

// Kind returns a kind of Cluster.Kinds. One that is missing is unknown, with the cause if
// Cluster.Broken has its group.
func (c *Cluster) Kind(_ context.Context, gk schema.GroupKind) (cluster.Kind, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, ok := c.Kinds[gk]
	if !ok {
		unknown := &cluster.UnknownKindError{GroupKind: gk}
		for gv, err := range c.Broken {
			if gv.Group == gk.Group {
				unknown.Cause = err
			}
		}
		return cluster.Kind{}, unknown
	}
	return kind, nil
}

// WhyHidden returns the error of Cluster.Hidden for a kind that is missing in Cluster.Kinds, or
// that of its group in Cluster.Broken.
func (c *Cluster) WhyHidden(ctx context.Context, gk schema.GroupKind) error {
	unknown := (*cluster.UnknownKindError)(nil)
	if _, err := c.Kind(ctx, gk); !errors.As(err, &unknown) {
		return nil
	}
	return cmp.Or(unknown.Cause, c.Hidden[gk])
}

// ListableKinds returns the kinds of Cluster.Kinds, sorted, and Cluster.Broken.
func (c *Cluster) ListableKinds(
	context.Context,
) (found []cluster.ListableKind, broken map[schema.GroupVersion]error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for gk, kind := range c.Kinds {
		found = append(found, cluster.ListableKind{
			GroupKind: gk, Version: kind.Resource.Version, Namespaced: kind.Namespaced,
		})
	}
	slices.SortFunc(found, func(a, b cluster.ListableKind) int {
		return cmp.Compare(a.GroupKind.String(), b.GroupKind.String())
	})
	return found, c.Broken, nil
}

// Rediscover counts how often it is called, and calls Cluster.Discovers.
func (c *Cluster) Rediscover(context.Context) error {
	c.Rediscovered++
	if c.Discovers != nil {
		c.Discovers()
	}
	return nil
}

// LearnKind adds the kind that a definition defines.
func (c *Cluster) LearnKind(_ context.Context, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	c.Serve(schema.GroupKind{Group: group, Kind: kind}, scope == "Namespaced")
	return nil
}

// AwaitKind does nothing: what Serve and LearnKind add is there at once.
func (c *Cluster) AwaitKind(context.Context, schema.GroupVersionKind) error { return nil }

// Select returns the objects that match a selection, sorted by kind and name. A kind whose list
// fails is an error, or missed if the selection ignores its versions.
func (c *Cluster) Select(
	ctx context.Context, s cluster.Selection,
) ([]*unstructured.Unstructured, error) {
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, err
	}
	kinds, _, _ := c.ListableKinds(ctx)
	c.Selections = append(c.Selections, s)
	var found []*unstructured.Unstructured
	for _, kind := range kinds {
		if s.Kinds != nil && !slices.Contains(s.Kinds, kind.GroupKind) {
			continue
		}
		if err := c.ListFails[kind.GroupKind]; err != nil {
			if c.ignores(s, kind.GroupKind) {
				missed := cluster.UnlistedKind{GroupKind: kind.GroupKind, Cause: err}
				if s.Unlisted != nil {
					s.Unlisted(missed)
				}
				continue
			}
			resource := c.Kinds[kind.GroupKind].Resource
			return nil, &cluster.ListError{Resource: resource, Namespaced: kind.Namespaced, Cause: err}
		}
		objects, _ := c.List(ctx, kind.GroupKind, "", nil)
		visible, missed := c.visible(kind, s)
		if missed != nil && s.Unlisted != nil {
			s.Unlisted(*missed)
		}
		for _, obj := range objects {
			if visible(obj.GetNamespace()) && selector.Matches(labels.Set(obj.GetLabels())) {
				found = append(found, obj)
			}
		}
	}
	return found, nil
}

// ignores reports whether lists of a kind may fail in a selection.
func (c *Cluster) ignores(s cluster.Selection, gk schema.GroupKind) bool {
	return s.Ignore != nil && !slices.ContainsFunc(c.Kinds[gk].Served, func(version string) bool {
		return !s.Ignore(schema.GroupVersion{Group: gk.Group, Version: version})
	})
}

// visible returns a function that reports whether a selection sees a namespace, and the part of the
// kind that it does not see; nil for none.
func (c *Cluster) visible(
	kind cluster.ListableKind, s cluster.Selection,
) (func(namespace string) bool, *cluster.UnlistedKind) {
	forbidden, limited := c.Unlistable[kind.GroupKind]
	switch {
	case !limited && !(s.OnlyFallback && kind.Namespaced):
		return func(string) bool { return true }, nil
	case !kind.Namespaced:
		missed := &cluster.UnlistedKind{GroupKind: kind.GroupKind, Forbidden: true}
		return func(string) bool { return false }, missed
	}
	var denied []string
	for _, namespace := range s.Fallback {
		if c.forbids(kind.GroupKind, namespace) {
			denied = append(denied, namespace)
		}
	}
	see := func(namespace string) bool {
		return slices.Contains(s.Fallback, namespace) && !slices.Contains(denied, namespace)
	}
	if len(denied) == 0 && len(forbidden) == 0 && !s.OnlyFallback {
		return see, nil
	}
	all := len(denied) == len(s.Fallback)
	return see, &cluster.UnlistedKind{GroupKind: kind.GroupKind, Namespaces: denied, Forbidden: all}
}

// forbids reports whether a kind may not be listed in a namespace, or in all if that is empty.
func (c *Cluster) forbids(gk schema.GroupKind, namespace string) bool {
	forbidden, limited := c.Unlistable[gk]
	if namespace == "" {
		return limited
	}
	return slices.Contains(forbidden, namespace) || slices.Contains(forbidden, Everywhere)
}

// Allowed reports whether the user may do something: unless Cluster.Denied has "VERB RESOURCE" or
// "VERB RESOURCE/SUBRESOURCE".
func (c *Cluster) Allowed(
	_ context.Context, verb, _, resource, subresource, _, _ string,
) (bool, error) {
	return !c.Denied[verb+" "+path.Join(resource, subresource)], nil
}

// Rules returns the status of a SelfSubjectRulesReview of a user who may do everything.
func (c *Cluster) Rules(context.Context, string) (map[string]any, error) {
	all := []any{"*"}
	rule := map[string]any{"verbs": all, "apiGroups": all, "resources": all}
	return map[string]any{"resourceRules": []any{rule}}, nil
}

// User returns the name of the user.
func (c *Cluster) User(context.Context) (string, error) { return "ann", nil }

// Host returns the address of the server.
func (c *Cluster) Host() string { return "https://test" }

// DelayedBindingClasses returns nothing: volumes are bound at once.
func (c *Cluster) DelayedBindingClasses(context.Context) (map[string]bool, error) {
	return nil, nil
}

// StreamLog returns the log of a pod, whatever the container. A log that is followed stays open
// until the context ends.
func (c *Cluster) StreamLog(
	ctx context.Context, pod object.Ref, _ string, o cluster.LogOptions,
) (io.ReadCloser, error) {
	log, ok := c.Logs[pod]
	if !ok {
		return nil, errors.New("there is no log")
	}
	if o.Lines != nil {
		log = log[max(0, len(log)-*o.Lines):]
	}
	text := io.Reader(strings.NewReader(strings.Join(append(slices.Clone(log), ""), "\n")))
	if o.Follow {
		text = io.MultiReader(text, openEnd{ctx})
	}
	return io.NopCloser(text), nil
}

// openEnd is a reader that waits for the end of a context.
type openEnd struct{ ctx context.Context }

// Read returns the live objects among the targets.
func (r openEnd) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// forbiddenList returns the error for a list that is not allowed.
func forbiddenList(gk schema.GroupKind) error {
	resource := schema.GroupResource{Group: gk.Group, Resource: gk.Kind}
	return apierrors.NewForbidden(resource, "", errors.New("cannot list"))
}
