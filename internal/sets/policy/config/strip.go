package config

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// StripLastApplied removes, in place, the fields of a stored object that a comparison with the
// last applied object ignores.
func (c *Config) StripLastApplied(obj *unstructured.Unstructured) error {
	return strip(&c.notApplied, obj)
}

// StripExisting removes, in place, the fields of an object that all comparisons ignore.
func (c *Config) StripExisting(obj *unstructured.Unstructured) error {
	return strip(&c.notCompared, obj)
}

// HasExclusions reports whether StripExisting may remove fields of an object.
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

// copyAnnotations are the annotations that may hold a copy of the object.
var copyAnnotations = []string{resource.AnnOriginal, resource.AnnKubectlApplied}

// Mask replaces secret values in place: the values of the maps that mask rules name, by the
// results of hide, then fields that a Secret does not have, and then the copies of the object in
// its annotations. It calls hide in the order of the keys. After an error the object may still hold
// secret values.
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
	if object.IsSecret(obj) && private {
		for _, field := range sortedKeys(obj.Object) {
			if object.IsPrivate(field) && field != "data" && field != "stringData" {
				obj.Object[field] = hide(obj.Object[field])
			}
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

// Masks reports whether an object has secret values.
func (c *Config) Masks(obj *unstructured.Unstructured) bool {
	for range c.masked.matching(obj.Object) {
		return true
	}
	return false
}
