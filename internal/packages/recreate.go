package packages

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/plan"
)

// RecreateHint is what users may do about an immutable field. KIND stands for that of the object.
const RecreateHint = `--recreate KIND, or the annotation ` + recreateKey + `: "true", ` +
	`deletes the object and creates it again`

// isHeld reports whether objects of a kind hold data or other objects, which a deletion may lose.
// Only their name in --recreate, or the annotation, recreates them.
func isHeld(gk schema.GroupKind) bool {
	stateful := schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	return gk == stateful || slices.Contains(plan.HeldKinds, gk)
}

// Replacement returns when an object is deleted and created again: if a field that changes is
// immutable, and the annotation or the options want it. The annotation has precedence.
func (o PlanOptions) Replacement(obj *unstructured.Unstructured) (plan.Replacement, error) {
	recreate := slices.ContainsFunc(o.Recreate, func(name string) bool {
		return recreates(name, obj.GroupVersionKind().GroupKind())
	})
	if text, ok := obj.GetAnnotations()[recreateKey]; ok {
		var err error
		if recreate, err = strconv.ParseBool(text); err != nil {
			return "", fmt.Errorf("annotation %s: %q must be \"true\" or \"false\"", recreateKey, text)
		}
	}
	if recreate {
		return plan.ReplaceImmutable, nil
	}
	return "", nil
}

// replacementInBoth returns what replacement does, unless the update strategy of kapp says more.
func (o PlanOptions) replacementInBoth(obj *unstructured.Unstructured) (plan.Replacement, error) {
	switch obj.GetAnnotations()[resource.AnnUpdateStrategy] {
	case "always-replace":
		return plan.ReplaceAlways, nil
	case "fallback-on-replace":
		return plan.ReplaceImmutable, nil
	default:
		return o.Replacement(obj)
	}
}

// recreates reports whether a value of --recreate names a kind.
func recreates(name string, gk schema.GroupKind) bool {
	if name == "*" {
		return !isHeld(gk)
	}
	return plan.NamesKind(name, gk)
}
