package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// HeldKinds are the kinds whose objects hold other objects or data, which are lost with them.
var HeldKinds = []schema.GroupKind{
	NamespaceKind, DefinitionKind, {Kind: "PersistentVolumeClaim"}, {Kind: "PersistentVolume"},
}

// AllowDelete is the set of held kinds whose objects may be deleted: names of kinds in the form
// KIND or KIND.GROUP, or * for all. With Set, String and Type, it is the value of a flag that can
// be repeated.
type AllowDelete []string

// noKind is the name of no kind: a flag that is given although nothing is allowed.
const noKind = "none"

// Set adds a name.
func (a *AllowDelete) Set(name string) error {
	known := slices.ContainsFunc(HeldKinds, func(gk schema.GroupKind) bool {
		return NamesKind(name, gk)
	})
	if name != "*" && name != noKind && !known {
		return fmt.Errorf("must be one of %s, * for all, or none", strings.Join(HeldKindNames(), ", "))
	}
	*a = append(*a, name)
	return nil
}

// String returns the names.
func (a *AllowDelete) String() string { return strings.Join(*a, ",") }

// Type returns the word for the value in help.
func (a *AllowDelete) Type() string { return "KIND" }

// Held returns the kinds whose objects may not be deleted.
func (a AllowDelete) Held() []schema.GroupKind {
	return slices.DeleteFunc(slices.Clone(HeldKinds), func(gk schema.GroupKind) bool {
		return slices.ContainsFunc(a, func(name string) bool {
			return name == "*" || NamesKind(name, gk)
		})
	})
}

// HeldKindNames returns the names of the held kinds, without their groups.
func HeldKindNames() []string {
	names := make([]string, len(HeldKinds))
	for i, gk := range HeldKinds {
		names[i] = gk.Kind
	}
	return names
}

// NamesKind reports whether a name in the form KIND or KIND.GROUP is that of a kind, in any case.
func NamesKind(name string, gk schema.GroupKind) bool {
	return strings.EqualFold(name, gk.Kind) || strings.EqualFold(name, gk.String())
}

// HoldBack makes a step keep an object that it would delete, because that is of a held kind or
// holds such an object: cause.
func (s *Step) HoldBack(cause object.Ref) {
	s.Op, s.Wait, s.ReasonCode = Keep, false, ReasonHeld
	s.Reason = fmt.Sprintf("it holds other objects or data; --allow-delete %s deletes it", cause.Kind)
	if cause != s.Ref {
		s.ReasonRef = cause
		s.Reason = fmt.Sprintf("it holds %s, which --allow-delete %s deletes", cause, cause.Kind)
	}
}

// KeepFor makes a step keep an object that it would delete, because one that stays depends on it.
func (s *Step) KeepFor(dependent object.Ref) {
	s.Op, s.Wait, s.ReasonCode, s.ReasonRef = Keep, false, ReasonDependency, dependent
	s.Reason = fmt.Sprintf("%s depends on it", dependent)
}

// HeldBack returns the objects that the plan does not delete because of their kind.
func (p *Plan) HeldBack() []object.Ref {
	var refs []object.Ref
	for i := range p.Steps {
		if p.Steps[i].ReasonCode == ReasonHeld {
			refs = append(refs, p.Steps[i].Ref)
		}
	}
	return refs
}
