package change

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// The strategies of changes, as annotations spell them. The empty one is the default.
const (
	FallbackOnUpdate       = "fallback-on-update"         // create; if the object exists, update it
	FallbackOnUpdateOrNoop = "fallback-on-update-or-noop" // the same, or do nothing if a rule says so
	FallbackOnReplace      = "fallback-on-replace"        // update; if invalid, delete and create
	AlwaysReplace          = "always-replace"             // delete and create
	Skip                   = "skip"                       // do not update
	Orphan                 = "orphan"                     // release instead of deleting
)

// strategies are, by operation, the annotation of the strategy and its names in the table.
var strategies = map[Op]struct {
	annotation, name string
	words            map[string]string
}{
	Add: {resource.AnnCreateStrategy, "create", map[string]string{"": "",
		FallbackOnUpdate: "fallback on update", FallbackOnUpdateOrNoop: "fallback on update or noop"}},
	Update: {resource.AnnUpdateStrategy, "update", map[string]string{"": "",
		FallbackOnReplace: "fallback on replace", AlwaysReplace: "always replace", Skip: "skip"}},
	Delete: {resource.AnnDeleteStrategy, "delete", map[string]string{"": "", Orphan: "orphan"}},
}

// protected are the namespaces of the cluster, which nobody can delete.
var protected = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// Strategy returns how the change is applied; "" is the default. An unknown strategy is an error.
func (c *Change) Strategy() (string, error) {
	op := c.ApplyOp()
	from, known := strategies[op]
	if !known || c.fallback {
		return "", nil
	}
	if op == Delete && isProtected(c.Object()) {
		return Orphan, nil
	}
	value, found := resource.Annotation(c.Object(), from.annotation)
	if !found && op == Update {
		value = c.calc.DefaultUpdateStrategy
	}
	if _, known := from.words[value]; !known {
		return "", fmt.Errorf("Unknown %s strategy: %s", from.name, value)
	}
	return value, nil
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// isProtected reports whether an object is a namespace that cannot be deleted.
func isProtected(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == namespaceKind &&
		slices.Contains(protected, obj.GetName())
}
