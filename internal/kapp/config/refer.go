package config

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/kapp/resource"
)

// reference is a place in other objects where versioned ones are named.
type reference struct {
	path path
	key  string // of the name
}

// referral is what references are compared with, and what they become.
type referral struct {
	target     *unstructured.Unstructured
	base, name string
}

// Refer makes a holder refer to the present version of a target: where a template rule for the target says that the holder
// names such objects, and in the holder's annotations that refer explicitly, the name base becomes name. A namespace, kind or
// API version that is part of a reference has to be the target's. The holder is changed in place, the target is not.
func (c *Config) Refer(holder, target *unstructured.Unstructured, base, name string) error {
	r := referral{target, base, name}
	for _, references := range c.templates.matching(target.Object) {
		for _, ref := range references.matching(holder.Object) {
			v := visitor{path: ref.path, found: func(fields map[string]any) { r.update(fields, ref.key) }}
			if err := v.visit(holder, "ObjectRefSetMod"); err != nil {
				return err
			}
		}
		if err := r.updateAnnotations(holder); err != nil {
			return err
		}
	}
	return nil
}

// update rewrites a reference if it is meant for the target.
func (r referral) update(fields map[string]any, key string) {
	given := func(name, want string) bool {
		have := text(fields, name)
		return have == "" || have == want
	}
	if text(fields, key) == r.base && given("namespace", r.target.GetNamespace()) && given("kind", r.target.GetKind()) &&
		given("apiVersion", r.target.GetAPIVersion()) {
		fields[key] = r.name
	}
}

// updateAnnotations rewrites the annotations that are references. They are written anew even if they are meant for another
// object: what kapp has written before is to stay as it is.
func (r referral) updateAnnotations(holder *unstructured.Unstructured) error {
	metadata, _ := holder.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		if key != resource.AnnVersionedExplicit && !strings.HasPrefix(key, resource.AnnVersionedExplicit+".") {
			continue
		}
		given, _ := value.(string)
		fields, err := explicit(key, given)
		if err != nil {
			return fmt.Errorf("Parsing versioned explicit ref on resource '%s': %w", resource.Describe(holder), err)
		}
		r.update(fields, "name")
		written, err := yaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("Updating versioned explicit ref on resource '%s': %w", resource.Describe(holder), err)
		}
		annotations[key] = string(written)
	}
	return nil
}

// explicit reads the reference that is the value of an annotation.
func explicit(key, value string) (map[string]any, error) {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(value), &fields); err != nil {
		return nil, fmt.Errorf("Parsing versioned explicit reference from annotation '%s': %w", key, err)
	}
	for _, name := range [...]string{"apiVersion", "kind", "name"} {
		if _, found := fields[name]; !found {
			return nil, errors.New("Expected versioned explicit reference to specify non-empty apiVersion, kind and name keys")
		}
	}
	return fields, nil
}

// references reads where a template rule finds references.
func (n node) references() *table[reference] {
	var references table[reference]
	for _, item := range n.get("affectedResources").get("objectReferences").items() {
		ref := reference{item.get("path").plainPath(), item.get("nameKey").text()}
		if ref.key == "" {
			ref.key = "name"
		}
		references.add(item.matchers(), ref)
	}
	return &references
}
