package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitionResource is the resource of definitions of kinds.
var definitionResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// definitions holds what is known of the definitions of kinds that the server does not serve.
type definitions struct {
	read  bool
	names []string // of all definitions
	err   error    // why they could not be listed

	doubts map[schema.GroupKind]error // results of MayExist
}

// MayExist returns why objects of a kind that the server does not serve may exist; nil if none can.
// A definition keeps its objects while it serves no version of them or its names are not accepted,
// so a kind is gone only without one. What cannot be found out counts as existing. It asks the
// server once after each discovery.
func (c *Client) MayExist(ctx context.Context, gk schema.GroupKind) error {
	c.mu.Lock()
	kinds := c.kinds
	c.mu.Unlock()
	if kinds == nil {
		return errors.New("the kinds of the server are not known")
	}
	kinds.defining.Lock()
	defer kinds.defining.Unlock()
	d := &kinds.definitions
	if doubt, ok := d.doubts[gk]; ok {
		return doubt
	}
	doubt := c.doubt(ctx, d, gk)
	if ctx.Err() == nil {
		if d.doubts == nil {
			d.doubts = map[schema.GroupKind]error{}
		}
		d.doubts[gk] = doubt
	}
	return doubt
}

// A server lists a new kind a moment after its definition is established. AwaitKind reads the kinds
// again every listedEvery, for listedTimeout.
const (
	listedEvery   = 200 * time.Millisecond
	listedTimeout = 5 * time.Second
)

// AwaitKind waits for a kind in a version that the server does not serve as far as is known, if a
// definition that is established defines it. Without one, or if it cannot be read, it does nothing.
func (c *Client) AwaitKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	if !c.isEstablished(ctx, gvk) {
		return nil
	}
	awaiting, cancel := context.WithTimeout(ctx, listedTimeout)
	defer cancel()
	for {
		if err := c.Rediscover(awaiting); err != nil && awaiting.Err() == nil {
			return err
		}
		c.mu.Lock()
		kind := c.kinds.known[gvk.GroupKind()]
		c.mu.Unlock()
		if slices.Contains(kind.Served, gvk.Version) {
			return nil
		}
		select {
		case <-awaiting.Done():
			return ctx.Err() // without one the caller reports a kind that is not known
		case <-time.After(listedEvery):
		}
	}
}

// isEstablished reports whether a definition of a kind in a version is known to be in effect.
func (c *Client) isEstablished(ctx context.Context, gvk schema.GroupVersionKind) bool {
	c.mu.Lock()
	kinds := c.kinds
	c.mu.Unlock()
	if kinds == nil {
		return false
	}
	kinds.defining.Lock()
	defer kinds.defining.Unlock()
	definition, err := c.definitionOf(ctx, &kinds.definitions, gvk.GroupKind())
	if err != nil || definition == nil || definition.GetDeletionTimestamp() != nil {
		return false
	}
	status, _ := condition(definition, "Established")
	return status == "True" && slices.Contains(definedVersions(definition), gvk.Version)
}

// doubt returns what MayExist does, from the definitions of the group.
func (c *Client) doubt(ctx context.Context, d *definitions, gk schema.GroupKind) error {
	definition, err := c.definitionOf(ctx, d, gk)
	if err != nil || definition == nil {
		return err
	}
	return fmt.Errorf("its definition %s exists, %s",
		definition.GetName(), whyUnserved(definition, gk))
}

// definitionOf returns the definition of a kind; nil if none exists.
func (c *Client) definitionOf(
	ctx context.Context, d *definitions, gk schema.GroupKind,
) (*unstructured.Unstructured, error) {
	if !d.read {
		d.names, d.err = c.listNames(ctx, root(definitionResource.GroupVersion())+"/"+
			definitionResource.Resource)
		if apierrors.IsNotFound(d.err) {
			d.err = nil // a server without definitions
		}
		d.read = ctx.Err() == nil
	}
	if d.err != nil {
		return nil, fmt.Errorf("whether a definition of it exists cannot be found out: %w",
			c.explain(d.err))
	}
	for _, name := range d.names {
		if _, group, _ := strings.Cut(name, "."); group != gk.Group {
			continue // after the plural, which has no dot
		}
		definition, err := getWithRetry(ctx, c, func() (*unstructured.Unstructured, error) {
			return c.of(definitionResource, "", false).Get(ctx, name, metav1.GetOptions{})
		})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("the definition %s cannot be read: %w", name, c.explain(err))
		case definesKind(definition, gk):
			return definition, nil
		}
	}
	return nil, nil
}

// definesKind reports whether a definition asks for a kind, was given it, or has the plural of it:
// the kind of a definition can be changed, and its objects have the new kind then.
func definesKind(definition *unstructured.Unstructured, gk schema.GroupKind) bool {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	asked, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	given, _, _ := unstructured.NestedString(definition.Object, "status", "acceptedNames", "kind")
	return asked == gk.Kind || given == gk.Kind ||
		definition.GetName() == plural.Resource+"."+gk.Group
}

// whyUnserved returns why the server does not serve a kind that a definition defines, or defined.
func whyUnserved(definition *unstructured.Unstructured, gk schema.GroupKind) string {
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if kind != gk.Kind {
		return "and defines the kind " + kind + " now"
	}
	if status, message := condition(definition, "NamesAccepted"); status == "False" {
		return "and its names are not accepted: " + message
	}
	if status, _ := condition(definition, "Terminating"); status == "True" {
		return "and is being deleted"
	}
	if len(definedVersions(definition)) == 0 {
		return "and serves no version"
	}
	return "and is not in effect"
}

// condition returns the status and the message of a condition of a definition.
func condition(definition *unstructured.Unstructured, name string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, _ := item.(map[string]any); condition["type"] == name {
			status, _ = condition["status"].(string)
			message, _ = condition["message"].(string)
		}
	}
	return status, message
}
