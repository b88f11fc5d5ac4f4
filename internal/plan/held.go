package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// HeldKinds are the kinds whose objects hold other objects or data, which are lost with them.
var HeldKinds = []schema.GroupKind{
	NamespaceKind, DefinitionKind, claimKind, {Kind: "PersistentVolume"},
}

var (
	claimKind       = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
)

// losses are what is lost with an object of each held kind.
var losses = map[schema.GroupKind]string{
	NamespaceKind:              "all objects in it",
	DefinitionKind:             "all objects of its kind, in every namespace",
	claimKind:                  "the data of its volume",
	{Kind: "PersistentVolume"}: "the data on it",
}

// LostWith returns what is lost with the live object of a step, and the kind that holds it: that of
// the object, or that of the volume claims of a stateful set which go with it. The text is empty if
// nothing is.
func LostWith(step *Step) (lost string, held schema.GroupKind) {
	held = step.Ref.GroupKind()
	if held == statefulSetKind && step.Have != nil {
		policy, _, _ := unstructured.NestedString(step.Have.Object, "spec",
			"persistentVolumeClaimRetentionPolicy", "whenDeleted")
		if policy == "Delete" {
			return "the data of its volume claims", claimKind
		}
	}
	return losses[held], held
}

// ways are what users may do instead of recreating an object of a held kind whose field cannot be
// changed, by the beginning of the field.
var ways = []struct {
	kind  schema.GroupKind
	field string
	text  string
}{
	{DefinitionKind, "status.storedVersions", "keep the version in spec.versions with served: " +
		"false, write its objects again in the new storage version, and only then remove it from " +
		"status.storedVersions"},
	{DefinitionKind, "", "define the kind under another name"},
	{schema.GroupKind{Kind: "PersistentVolumeClaim"}, "spec.resources.requests.storage",
		"a claim cannot shrink: request at least the size in its status.capacity"},
	{schema.GroupKind{Kind: "PersistentVolumeClaim"}, "",
		"create a claim with another name, and copy the data"},
	{schema.GroupKind{Kind: "PersistentVolume"}, "",
		"create a volume with another name, and copy the data"},
}

// HasWay reports whether users may do something else about a field of a held kind that cannot be
// changed than to recreate its object.
func HasWay(gk schema.GroupKind, field string) bool {
	for _, way := range ways {
		if way.kind == gk && way.field != "" && strings.HasPrefix(field, way.field) {
			return true
		}
	}
	return false
}

// Holds reports whether the object of a step is of a kind that the plan does not delete, or holds
// objects of one.
func (p *Plan) Holds(step *Step) bool {
	_, held := LostWith(step)
	return slices.Contains(p.Held, held)
}

// Advice returns what users may do about fields of the object of a step that cannot be changed: for
// an object that holds others or data, what keeps these, and what would be lost.
func (p *Plan) Advice(step *Step, fields []string) string {
	gk := step.Ref.GroupKind()
	advice := strings.ReplaceAll(p.RecreateHint, "KIND", gk.String())
	lost, held := LostWith(step)
	if lost == "" {
		return advice
	}
	if p.Holds(step) {
		advice = fmt.Sprintf("it is held, because %s would be lost: only --allow-delete %s together "+
			"with %s", lost, held.Kind, advice)
	} else {
		advice += ", and " + lost + " would be lost"
	}
	for _, way := range ways {
		if way.kind == gk && slices.ContainsFunc(fields, func(field string) bool {
			return strings.HasPrefix(field, way.field)
		}) {
			return way.text + "; " + advice
		}
	}
	return advice
}

// HeldError reports an object that is not deleted to be recreated, because of what it holds.
type HeldError struct {
	Lost string           // what would be lost
	Kind schema.GroupKind // whose deletion has to be allowed
	Err  error            // why it would be recreated; may be nil
}

func (e *HeldError) Error() string {
	text := fmt.Sprintf("it is held, and not recreated, because %s would be lost; --allow-delete %s "+
		"recreates it", e.Lost, e.Kind.Kind)
	if e.Err != nil {
		text += "\n" + e.Err.Error()
	}
	return text
}

// Unwrap returns why the object would be recreated.
func (e *HeldError) Unwrap() error { return e.Err }

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

// holdBack makes a step keep an object that it would delete, because that is of a held kind or
// holds such an object: cause.
func (s *Step) holdBack(cause object.Ref) {
	s.Op, s.Wait, s.ReasonCode = Keep, false, ReasonHeld
	s.Reason = fmt.Sprintf("it holds other objects or data; --allow-delete %s deletes it", cause.Kind)
	if cause != s.Ref {
		s.ReasonRef = cause
		s.Reason = fmt.Sprintf("it holds %s, which --allow-delete %s deletes", cause, cause.Kind)
	}
}

// keepFor makes a step keep an object that it would delete, because one that stays depends on it.
func (s *Step) keepFor(dependent object.Ref) {
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
