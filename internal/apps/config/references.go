package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// reference is a place in other objects where versioned ones are named.
type reference struct {
	path path
	key  string // of the name
}

// Rename is a versioned object, the name that others know it by, and the one of the version that they are to refer to.
type Rename struct {
	Target     *unstructured.Unstructured
	Base, Name string
}

// RefRewriter makes objects refer to the present versions of others. It is made once for all, by Config.RefRewriter, so that an
// object costs no more for each of them; then it may be used by several at the same time.
type RefRewriter struct {
	templates *table[*table[reference]]
	byRule    []byBase // for each template rule, the objects that it is for
	all       byBase   // those of any rule
}

// byBase holds renames by the name that is replaced, in the order in which they were given.
type byBase map[string][]Rename

// NewRefRewriter prepares renames. Objects that no template rule is for are left out, as they are not known to be referred to.
func (c *Config) NewRefRewriter(renames []Rename) *RefRewriter {
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
		if matched {
			r.all[one.Base] = append(r.all[one.Base], one)
		}
	}
	return r
}

// RewriteRefs makes a holder refer to the present version of one target, as Renames.In does.
func (c *Config) RewriteRefs(holder, target *unstructured.Unstructured, base, name string) error {
	return c.NewRefRewriter([]Rename{{target, base, name}}).Rewrite(holder)
}

// Rewrite makes a holder refer to the present versions: where template rules say that it names such objects, and in those of its
// annotations that refer explicitly. A namespace, kind or API version that is part of a reference has to be the object's;
// the first that fits counts. The holder is changed in place, and what has been done by the time of an error stays.
func (r *RefRewriter) Rewrite(holder *unstructured.Unstructured) error {
	for rule, renames := range r.byRule {
		if renames == nil {
			continue
		}
		for _, ref := range r.templates.rules[rule].matching(holder.Object) {
			v := visitor{path: ref.path, visitMap: func(fields map[string]any) { renames.update(fields, ref.key) }}
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

// update rewrites a reference if it is meant for one of the objects.
func (b byBase) update(fields map[string]any, key string) {
	given := func(name, want string) bool {
		have := text(fields, name)
		return have == "" || have == want
	}
	for _, r := range b[text(fields, key)] {
		target := r.Target
		if given("namespace", target.GetNamespace()) && given("kind", target.GetKind()) && given("apiVersion", target.GetAPIVersion()) {
			fields[key] = r.Name
			return
		}
	}
}

// updateAnnotations rewrites the annotations that are references. They are written anew even if they are meant for another
// object: what kapp has written before is to stay as it is.
func (r *RefRewriter) updateAnnotations(holder *unstructured.Unstructured) error {
	metadata, _ := holder.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range explicitRefKeys(annotations) {
		given, _ := annotations[key].(string)
		fields, err := parseExplicit(key, given)
		if err != nil {
			return fmt.Errorf("Parsing versioned explicit ref on resource '%s': %w", resource.Describe(holder), err)
		}
		r.all.update(fields, "name")
		written, err := yaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("Updating versioned explicit ref on resource '%s': %w", resource.Describe(holder), err)
		}
		annotations[key] = string(written)
	}
	return nil
}

// explicitKeys gives the annotations that are references, sorted, so that the first error is always the same.
func explicitRefKeys(annotations map[string]any) []string {
	var keys []string
	for key := range annotations {
		if key == resource.AnnVersionedExplicit || strings.HasPrefix(key, resource.AnnVersionedExplicit+".") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// explicit reads the reference that is the value of an annotation.
func parseExplicit(key, value string) (map[string]any, error) {
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
