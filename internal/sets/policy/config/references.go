package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// reference is a place in other objects that names a versioned object.
type reference struct {
	path path
	key  string // the field with the name
}

// Rename is a versioned object with its base name and the name of the version to refer to.
type Rename struct {
	Target     *unstructured.Unstructured
	Base, Name string
}

// RefRewriter rewrites references to versioned objects. It serves all objects, so that the number
// of versioned objects does not add to the cost of each. Several goroutines may use it.
type RefRewriter struct {
	templates *table[*table[reference]]
	byRule    []byBase // the objects that each template rule matches
	all       byBase   // the objects to which annotations may refer
}

// byBase maps base names to renames in their order.
type byBase map[string][]Rename

// NewRefRewriter returns a RefRewriter for the renames. It omits objects that no template rule
// matches, in annotations unless all are wanted there.
func (c *Config) NewRefRewriter(renames []Rename, all bool) *RefRewriter {
	r := &RefRewriter{&c.templates, make([]byBase, len(c.templates.rules)), byBase{}}
	for _, one := range renames {
		matched := false
		for rule := range c.templates.matching(one.Target.Object) {
			if r.byRule[rule] == nil {
				r.byRule[rule] = byBase{}
			}
			r.byRule[rule][one.Base] = append(r.byRule[rule][one.Base], one)
			matched = true
		}
		if matched || all {
			r.all[one.Base] = append(r.all[one.Base], one)
		}
	}
	return r
}

// RewriteRefs rewrites the references of a holder to one target, like RefRewriter.Rewrite.
func (c *Config) RewriteRefs(holder, target *unstructured.Unstructured, base, name string) error {
	return c.NewRefRewriter([]Rename{{target, base, name}}, true).Rewrite(holder)
}

// RewriteRuledRefs rewrites the references of a holder like RewriteRefs, but as kapp, which leaves
// those in annotations alone if no template rule matches the target.
func (c *Config) RewriteRuledRefs(
	holder, target *unstructured.Unstructured, base, name string,
) error {
	return c.NewRefRewriter([]Rename{{target, base, name}}, false).Rewrite(holder)
}

// Rewrite rewrites the references of a holder in place: in the fields that template rules name,
// and in its annotations for explicit references. A namespace, kind or API version in a reference
// has to be that of the target; the first target that fits counts. After an error the holder may
// be changed in part.
func (r *RefRewriter) Rewrite(holder *unstructured.Unstructured) error {
	for rule, renames := range r.byRule {
		if renames == nil {
			continue
		}
		for _, ref := range r.templates.rules[rule].matching(holder.Object) {
			v := visitor{path: ref.path,
				visitMap: func(fields map[string]any) { renames.update(fields, ref.key) }}
			if err := v.visit(holder, "ObjectRefSetMod"); err != nil {
				return err
			}
		}
	}
	if len(r.all) == 0 {
		return nil
	}
	return r.updateAnnotations(holder)
}

// update rewrites a reference if it names one of the objects.
func (b byBase) update(fields map[string]any, key string) {
	given := func(name, want string) bool {
		have := text(fields, name)
		return have == "" || have == want
	}
	for _, r := range b[text(fields, key)] {
		target := r.Target
		if given("namespace", target.GetNamespace()) && given("kind", target.GetKind()) &&
			given("apiVersion", target.GetAPIVersion()) {
			fields[key] = r.Name
			return
		}
	}
}

// updateAnnotations rewrites the annotations that are references, even those to other objects, so
// that the annotations keep the form that kapp wrote.
func (r *RefRewriter) updateAnnotations(holder *unstructured.Unstructured) error {
	metadata, _ := holder.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range explicitRefKeys(annotations) {
		given, _ := annotations[key].(string)
		fields, err := parseExplicit(key, given)
		if err != nil {
			return fmt.Errorf("Parsing versioned explicit ref on resource '%s': %w",
				resource.Describe(holder), err)
		}
		r.all.update(fields, "name")
		written, err := yamltext.Marshal(fields)
		if err != nil {
			return fmt.Errorf("Updating versioned explicit ref on resource '%s': %w",
				resource.Describe(holder), err)
		}
		annotations[key] = string(written)
	}
	return nil
}

// explicitRefKeys returns the keys of annotations that are references, sorted so that the first
// error is always the same.
func explicitRefKeys(annotations map[string]any) []string {
	var keys []string
	for key := range annotations {
		if key == resource.AnnVersionedExplicit ||
			strings.HasPrefix(key, resource.AnnVersionedExplicit+".") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// parseExplicit parses the reference in an annotation.
func parseExplicit(key, value string) (map[string]any, error) {
	var fields map[string]any
	err := yamlsize.Check([]byte(value))
	if err == nil {
		err = yaml.Unmarshal([]byte(value), &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("Parsing versioned explicit reference from annotation '%s': %w", key, err)
	}
	for _, name := range [...]string{"apiVersion", "kind", "name"} {
		if _, found := fields[name]; !found {
			return nil, errors.New(
				"Expected versioned explicit reference to specify non-empty apiVersion, kind and name keys")
		}
	}
	return fields, nil
}

// references reads the places of references in a template rule.
func (n node) references() *table[reference] {
	var references table[reference]
	for _, item := range n.get("affectedResources").get("objectReferences").items() {
		ref := reference{item.get("path").pathFromTop(), item.get("nameKey").text()}
		if ref.key == "" {
			ref.key = "name"
		}
		references.add(item.matchers(), ref)
	}
	return &references
}
