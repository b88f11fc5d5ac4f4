package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// Leaving returns a function that reports whether a live object is being deleted, itself or with
// its namespace or the definition of its kind, as far as these are among the live objects.
func Leaving(live map[object.Ref]*unstructured.Unstructured) func(object.Ref) bool {
	namespaces, kinds := map[string]bool{}, map[schema.GroupKind]bool{}
	for ref, obj := range live {
		if obj == nil || obj.GetDeletionTimestamp() == nil {
			continue
		}
		switch ref.GroupKind() {
		case NamespaceKind:
			namespaces[ref.Name] = true
		case DefinitionKind:
			if gk, ok := DefinedKind(obj); ok {
				kinds[gk] = true
			}
		}
	}
	return func(ref object.Ref) bool {
		obj := live[ref]
		return obj != nil && (obj.GetDeletionTimestamp() != nil || kinds[ref.GroupKind()] ||
			ref.Namespace != "" && namespaces[ref.Namespace])
	}
}

// SetLeaving makes the step wait until its live object is gone, and create it then.
func (s *Step) SetLeaving() {
	s.Have, s.Leaving = nil, s.Have
	s.ReasonCode, s.Reason = ReasonLeaving, "when the object that is being deleted is gone"
}

// leaves reports whether a desired object is created once the live one is gone. One that belongs to
// others is left to them.
func (b *builder) leaves(step *Step, want *unstructured.Unstructured) bool {
	if b.leaving == nil || !b.leaving(step.Ref) {
		return false
	}
	code, _ := b.in.Policy.Owner.refusal(step.Have, want, "", "")
	return code == ""
}
