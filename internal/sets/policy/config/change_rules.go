package config

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// RuleBinding is a set of change rules for an object.
type RuleBinding struct {
	Rules    []string // in kapp's syntax, with placeholders
	Optional bool     // a rule that would close a cycle is ignored
	Weight   int      // 100 plus the number of bindings before it
}

// binding is a set of change rules for the objects that match.
type binding struct {
	rules    []string
	optional bool
}

// firstWeight is the weight of the first binding. Rules in annotations have no weight.
const firstWeight = 100

// ChangeGroups returns the names of the change groups that bindings assign to an object, in the
// order of the bindings. Placeholders are not replaced.
func (c *Config) ChangeGroups(obj *unstructured.Unstructured) []string {
	var names []string
	for _, name := range c.groups.matching(obj.Object) {
		names = append(names, name)
	}
	return names
}

// ChangeRules returns the bindings of change rules for an object in order. The result must not be
// changed.
func (c *Config) ChangeRules(obj *unstructured.Unstructured) []RuleBinding {
	var found []RuleBinding
	for number, b := range c.bindings.matching(obj.Object) {
		found = append(found, RuleBinding{b.rules, b.optional, firstWeight + number})
	}
	return found
}
