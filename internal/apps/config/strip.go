package config

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
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

// HasExclusions reports whether StripExisting may take something out of an object.
func (c *Config) HasExclusions(obj *unstructured.Unstructured) bool {
	for _, p := range c.notCompared.matching(obj.Object) {
		if _, there := obj.Object[p.parts[0].key]; there || p.parts[0].form != byKey {
			return true
		}
	}
	return false
}

func strip(rules *table[path], obj *unstructured.Unstructured) error {
	for _, p := range rules.matching(obj.Object) {
		if err := remove(p, obj.Object); err != nil {
			return err
		}
	}
	return nil
}

// copies are the annotations in which an object may hold all of itself once more.
var copyAnnotations = []string{resource.AnnOriginal, resource.AnnKubectlApplied}

// Mask replaces the values that must not be shown, in place: each value of the maps that mask rules name, by what hide gives
// for it, and after that the copies of the object in its annotations. hide is asked in the order of the keys. After an error the
// object may still hold such values, and must not be shown.
func (c *Config) Mask(obj *unstructured.Unstructured, hide func(value any) string) error {
	private := false
	for _, p := range c.masked.matching(obj.Object) {
		private = true
		v := visitor{path: p, visitMap: func(fields map[string]any) {
			for _, name := range sortedKeys(fields) {
				fields[name] = hide(fields[name])
			}
		}}
		if err := v.visit(obj, "ObjectRefSetMod"); err != nil {
			return err
		}
	}
	annotations, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "annotations")
	all, _ := annotations.(map[string]any)
	for _, name := range copyAnnotations {
		if value, has := all[name]; has && private {
			all[name] = hide(value)
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
