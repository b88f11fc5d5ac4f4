package ready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wildcard as a kind matches every kind; as the prefix of a group it matches any prefix.
const wildcard = "*"

// Rule judges the objects of one type in all versions. The kind "*" matches every kind; a group
// that begins with "*" matches all groups with the rest as a suffix. Judge must not change or keep
// the object. It returns the zero Status if the next rule should decide.
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

// isPattern reports whether the rule can match more than one type.
func (r Rule) isPattern() bool {
	return r.GroupKind.Kind == wildcard || strings.HasPrefix(r.GroupKind.Group, wildcard)
}

// applyRules returns the status from the first matching rule that applies, or the zero Status.
func applyRules(rules []Rule, kind schema.GroupKind, obj *unstructured.Unstructured) Status {
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

// RuleSet indexes rules by type. It is immutable and may be used concurrently. A nil set has no
// rules.
type RuleSet struct {
	exact    map[schema.GroupKind][]Rule // with the patterns that match
	patterns []Rule
}

// NewRuleSet returns a set of rules that apply in the given order.
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

// For returns the rules that match a type, in order.
func (s *RuleSet) For(kind schema.GroupKind) []Rule {
	if s == nil {
		return nil
	}
	if rules, ok := s.exact[kind]; ok {
		return rules
	}
	return slices.DeleteFunc(
		slices.Clone(s.patterns), func(r Rule) bool { return !r.matches(kind) },
	)
}

// Of returns the status of an object by the rules of the set; see the function Of.
func (s *RuleSet) Of(obj *unstructured.Unstructured) Status {
	if s == nil || obj == nil {
		return Of(obj)
	}
	if rules, ok := s.exact[kindOf(obj)]; ok {
		return Of(obj, rules...)
	}
	return Of(obj, s.patterns...)
}

// decides reports whether a rule of the set decides about an object.
func (s *RuleSet) decides(obj *unstructured.Unstructured) bool {
	rules := s.For(kindOf(obj))
	return len(rules) > 0 && applyRules(rules, kindOf(obj), obj).State != ""
}
