package config

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scope is a map that receives the label of the app, if it is there.
type scope struct {
	path    path
	builtIn bool // a flag switches these off
}

func (c *Config) addLabels(labels map[string]string) {
	if c.labels == nil {
		c.labels = map[string]string{}
	}
	maps.Copy(c.labels, labels)
}

// AddOwnershipLabels puts labels on an object, and the additional labels of the configuration, which do not replace those: into every map
// that an ownership rule names, and which is made if need be. The object is changed in place, and what has been done by the
// time of an error stays.
func (c *Config) AddOwnershipLabels(obj *unstructured.Unstructured, labels map[string]string) error {
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

// AddScopingLabels puts labels into the selectors that label scoping rules name, as far as the object has them. Without defaults, the
// built-in rules are passed over. The object is changed in place.
func (c *Config) AddScopingLabels(obj *unstructured.Unstructured, labels map[string]string, defaults bool) error {
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
