package config

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scope is a map that gets the label of the app if it exists.
type scope struct {
	path    path
	builtIn bool // a flag disables these
}

func (c *Config) addLabels(labels map[string]string) {
	if c.labels == nil {
		c.labels = map[string]string{}
	}
	maps.Copy(c.labels, labels)
}

// AddOwnershipLabels adds labels to an object in place, and the additional labels of the
// configuration, which do not replace those. The labels are added to every map that an ownership
// rule names; a missing map is created. After an error the object may be changed in part.
func (c *Config) AddOwnershipLabels(obj *unstructured.Unstructured,
	labels map[string]string) error {
	for _, p := range c.owned.matching(obj.Object) {
		v := visitor{path: p, create: true, visitMap: func(fields map[string]any) {
			setLabels(fields, c.labels)
			setLabels(fields, labels)
		}}
		if err := v.visit(obj, "StringMapAppendMod"); err != nil {
			return err
		}
	}
	return nil
}

// AddObjectLabels adds labels to the metadata of an object in place, and the additional labels of
// the configuration, which do not replace those.
func (c *Config) AddObjectLabels(obj *unstructured.Unstructured, labels map[string]string) {
	all := obj.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, c.labels)
	maps.Copy(all, labels)
	obj.SetLabels(all)
}

// AddScopingLabels adds labels in place to the selectors that label scoping rules name, where the
// object has them. It ignores the built-in rules unless defaults is true.
func (c *Config) AddScopingLabels(obj *unstructured.Unstructured, labels map[string]string,
	defaults bool) error {
	for _, s := range c.scoped.matching(obj.Object) {
		if s.builtIn && !defaults {
			continue
		}
		v := visitor{path: s.path, visitMap: func(fields map[string]any) { setLabels(fields, labels) }}
		if err := v.visit(obj, "StringMapAppendMod"); err != nil {
			return err
		}
	}
	return nil
}

func setLabels(fields map[string]any, labels map[string]string) {
	for label, value := range labels {
		fields[label] = value
	}
}
