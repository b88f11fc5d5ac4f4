package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/object"
)

// Leaving returns a function that reports whether a live object is being deleted, itself or with
// its namespace, the definition of its kind or its owners, as far as these are among the live
// objects.
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
	leaves := func(ref object.Ref) bool {
		obj := live[ref]
		return obj != nil && (obj.GetDeletionTimestamp() != nil || kinds[ref.GroupKind()] ||
			ref.Namespace != "" && namespaces[ref.Namespace])
	}
	collected := collected(live, leaves)
	return func(ref object.Ref) bool { return leaves(ref) || collected[ref] }
}

// collected returns the live objects that the garbage collector will delete after all of their
// owners, which are leaving or collected themselves.
func collected(
	live map[object.Ref]*unstructured.Unstructured, leaves func(object.Ref) bool,
) map[object.Ref]bool {
	going, owned := sets.New[types.UID](), map[object.Ref]bool{}
	dependents, remaining := map[types.UID][]object.Ref{}, map[object.Ref]int{}
	for ref, obj := range live {
		if obj != nil && leaves(ref) && !orphans(obj) {
			going.Insert(obj.GetUID())
		}
		for owner := range sets.New(ownersOf(obj)...) {
			dependents[owner] = append(dependents[owner], ref)
			remaining[ref]++
		}
	}
	for queue := going.UnsortedList(); len(queue) > 0; queue = queue[1:] {
		for _, ref := range dependents[queue[0]] {
			remaining[ref]--
			if uid := live[ref].GetUID(); remaining[ref] == 0 {
				if owned[ref] = true; !going.Has(uid) {
					going.Insert(uid)
					queue = append(queue, uid)
				}
			}
		}
	}
	return owned
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
