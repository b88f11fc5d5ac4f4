package ready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wildcard as a kind matches every kind. At the beginning of a group it stands for whatever comes before the rest.
const wildcard = "*"

// Rule judges the objects of one type, whatever their version. The kind "*" matches every kind, and a group that begins
// with "*" matches all groups that end with the rest. Judge must not change the object or keep it; it returns the zero
// Status when it has nothing to say, and then the next rule is asked.
type Rule struct {
	GroupKind schema.GroupKind
	Judge     func(obj *unstructured.Unstructured) Status
}

func (r Rule) matches(kind schema.GroupKind) bool {
	if r.GroupKind.Kind != kind.Kind && r.GroupKind.Kind != wildcard {
		return false
	}
	if rest, ok := strings.CutPrefix(r.GroupKind.Group, wildcard); ok {
		return strings.HasSuffix(kind.Group, rest)
	}
	return r.GroupKind.Group == kind.Group
}

// isPattern says whether the rule matches more than one type.
func (r Rule) isPattern() bool {
	return r.GroupKind.Kind == wildcard || strings.HasPrefix(r.GroupKind.Group, wildcard)
}

// ask gives the answer of the first rule for the object's type that has one.
func ask(rules []Rule, kind schema.GroupKind, obj *unstructured.Unstructured) Status {
	for _, rule := range rules {
		if !rule.matches(kind) {
			continue
		}
		if s := rule.Judge(obj); s.State != "" {
			return s
		}
	}
	return Status{}
}

// RuleSet keeps many rules so that those for a type are found at once. It is never changed and may be used concurrently;
// nil holds no rules.
type RuleSet struct {
	exact    map[schema.GroupKind][]Rule // with the patterns that match
	patterns []Rule
}

// NewRuleSet gives a set of rules that are asked in the given order.
func NewRuleSet(rules ...Rule) *RuleSet {
	set := &RuleSet{exact: map[schema.GroupKind][]Rule{}}
	for _, rule := range rules {
		if rule.isPattern() {
			set.patterns = append(set.patterns, rule)
		} else {
			set.exact[rule.GroupKind] = nil
		}
	}
	for _, rule := range rules {
		if !rule.isPattern() {
			set.exact[rule.GroupKind] = append(set.exact[rule.GroupKind], rule)
			continue
		}
		for kind := range set.exact {
			if rule.matches(kind) {
				set.exact[kind] = append(set.exact[kind], rule)
			}
		}
	}
	return set
}

// For gives the rules that match a type, in order.
func (s *RuleSet) For(kind schema.GroupKind) []Rule {
	if s == nil {
		return nil
	}
	if rules, ok := s.exact[kind]; ok {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(s.patterns), func(r Rule) bool { return !r.matches(kind) })
}

// Of judges an object as the function Of does, by the rules of the set.
func (s *RuleSet) Of(obj *unstructured.Unstructured) Status {
	if s == nil || obj == nil {
		return Of(obj)
	}
	if rules, ok := s.exact[kindOf(obj)]; ok {
		return Of(obj, rules...)
	}
	return Of(obj, s.patterns...)
}
