package sets

import (
	"slices"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/owner"
)

// CheckIgnored returns an error for rules that have no effect, or that cover what identifies
// objects or marks them as those of a set.
func CheckIgnored(rules diff.IgnoreRules) error {
	annotations, labels := slices.Clone(ownAnnotations), []string(nil)
	for _, kind := range []owner.Kind{owner.Package, owner.App, owner.ApplySet} {
		l, a := owner.Keys(kind)
		labels, annotations = append(labels, l...), append(annotations, a...)
	}
	return rules.Check(labels, annotations)
}
