package config

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/kapp/resource"
)

// StripLastApplied takes the fields out of a stored object, in place, that do not count when it is compared with what was
// last applied.
func (c *Config) StripLastApplied(obj *unstructured.Unstructured) error {
	return strip(&c.notApplied, obj)
}

// StripExisting takes the fields out of an object, in place, that do not count in any comparison.
func (c *Config) StripExisting(obj *unstructured.Unstructured) error {
	return strip(&c.notCompared, obj)
}

func strip(rules *table[path], obj *unstructured.Unstructured) error {
	for _, p := range rules.matching(obj.Object) {
		if err := remove(p, obj.Object); err != nil {
			return err
		}
	}
	return nil
}

// Mask replaces the values that must not be shown, in place: each value of the maps that mask rules name, by what hide gives
// for it. hide is asked in the order of the keys. Of an object that a rule concerns the annotation in which kubectl keeps a copy of
// it is hidden, too. After an error the object may still hold such values, and must not be shown.
func (c *Config) Mask(obj *unstructured.Unstructured, hide func(value any) string) error {
	concerned := false
	for _, p := range c.masked.matching(obj.Object) {
		concerned = true
		v := visitor{path: p, found: func(fields map[string]any) {
			for _, name := range sortedKeys(fields) {
				fields[name] = hide(fields[name])
			}
		}}
		if err := v.visit(obj, "ObjectRefSetMod"); err != nil {
			return err
		}
	}
	if metadata, _ := obj.Object["metadata"].(map[string]any); concerned && metadata != nil {
		if annotations, _ := metadata["annotations"].(map[string]any); annotations[resource.AnnKubectlApplied] != nil {
			annotations[resource.AnnKubectlApplied] = hide(annotations[resource.AnnKubectlApplied])
		}
	}
	return nil
}

// Masks reports whether an object has values that must not be shown.
func (c *Config) Masks(obj *unstructured.Unstructured) bool {
	for range c.masked.matching(obj.Object) {
		return true
	}
	return false
}
