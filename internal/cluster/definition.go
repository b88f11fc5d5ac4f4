package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// doubt returns what MayExist does, from the definitions of the group.
func (c *Client) doubt(ctx context.Context, d *definitions, gk schema.GroupKind) error {
	if !d.read {
		d.names, d.err = c.listNames(ctx, root(definitionResource.GroupVersion())+"/"+
			definitionResource.Resource)
		if apierrors.IsNotFound(d.err) {
			d.err = nil // a server without definitions
		}
		d.read = ctx.Err() == nil
	}
	if d.err != nil {
		return fmt.Errorf("whether a definition of it exists cannot be found out: %w",
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
			return fmt.Errorf("the definition %s cannot be read: %w", name, c.explain(err))
		case definesKind(definition, gk):
			return fmt.Errorf("its definition %s exists, %s", name, whyUnserved(definition, gk))
		}
	}
	return nil
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
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		message, _ := condition["message"].(string)
		switch {
		case condition["type"] == "NamesAccepted" && condition["status"] == "False":
			return "and its names are not accepted: " + message
		case condition["type"] == "Terminating" && condition["status"] == "True":
			return "and is being deleted"
		}
	}
	if len(definedVersions(definition)) == 0 {
		return "and serves no version"
	}
	return "and is not in effect"
}
