package config

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// RuleBinding is a set of ordering rules that hold for an object.
type RuleBinding struct {
	Rules    []string // as kapp words them, with placeholders that are not yet replaced
	Optional bool     // a rule that would close a cycle does not count
	Weight   int      // 100, and one more for each binding before it in the configuration
}

// binding is a set of ordering rules for the objects that match.
type binding struct {
	rules    []string
	optional bool
}

// firstWeight is the weight of the first binding. Rules of annotations have none.
const firstWeight = 100

// ChangeGroups gives the names of the change groups that bindings put an object into, in the order of the bindings. Placeholders
// are not replaced.
func (c *Config) ChangeGroups(obj *unstructured.Unstructured) []string {
	var names []string
	for _, name := range c.groups.matching(obj.Object) {
		names = append(names, name)
	}
	return names
}

// ChangeRules gives the bindings of ordering rules for an object, in order. What is given must not be changed.
func (c *Config) ChangeRules(obj *unstructured.Unstructured) []RuleBinding {
	var found []RuleBinding
	for number, b := range c.bindings.matching(obj.Object) {
		found = append(found, RuleBinding{b.rules, b.optional, firstWeight + number})
	}
	return found
}
