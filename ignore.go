package muster

import (
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/sets"
)

// IgnoreRule names fields that a set leaves to others once their object exists.
type IgnoreRule struct {
	// Paths are JSON pointers, at least one: /spec/replicas, or with ~1 for the slash in a key
	// /metadata/annotations/example.com~1note. An item of a list is named by one of its fields, as in
	// /spec/template/spec/containers/[name=web]/image. What is below a path is left, too. What
	// identifies an object, or marks it as one of a set, cannot be left.
	Paths []string
	// Managers are field managers, in which * stands for any text: a field is left only if one of
	// them owns it. None is whoever owns it, or nobody.
	Managers []string
	Target   IgnoreTarget // the zero value is all objects
}

// IgnoreTarget selects objects. In each field * stands for any text, and an empty one selects all.
type IgnoreTarget struct{ Group, Kind, Namespace, Name string }

// ignoreRules returns rules for the packages of the program. The error names the one that is not
// valid.
func ignoreRules(rules []IgnoreRule) (diff.IgnoreRules, error) {
	var ignore diff.IgnoreRules
	for _, rule := range rules {
		ignore = append(ignore, diff.IgnoreRule{
			Paths: rule.Paths, Managers: rule.Managers, Target: diff.IgnoreTarget(rule.Target),
		})
	}
	return ignore, sets.CheckIgnored(ignore)
}
