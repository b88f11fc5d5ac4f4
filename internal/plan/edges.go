package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// Kinds without which other objects cannot exist.
var (
	NamespaceKind  = schema.GroupKind{Kind: "Namespace"}
	DefinitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// secretKind is the kind whose content is never printed.
var secretKind = schema.GroupKind{Kind: "Secret"}

// connect turns dependencies into edges. An applied object needs its dependencies; a deleted object
// needs its dependents to be gone.
func (b *builder) connect() {
	definitions := b.definitions()
	for i := range b.nodes {
		for _, target := range b.impliedTargets(i, definitions) {
			b.addDependency(i, target, true)
		}
		for _, target := range b.declaredTargets(i) {
			b.addDependency(i, target, false)
		}
	}
	b.constrain()
}

// constrain turns the constraints of the policy into edges.
func (b *builder) constrain() {
	if b.in.Policy.Constraints == nil {
		return
	}
	var nodes []int
	var objects []Ordered
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.Op.IsDesired() || n.Op == Delete && n.Ref != b.in.Policy.RecordNamespace {
			nodes, objects = append(nodes, i), append(objects, Ordered{n.object(), n.Op == Delete})
		}
	}
	waits, errs, err := b.in.Policy.Constraints(objects)
	if err != nil {
		b.errs = append(b.errs, err)
		return
	}
	for k, i := range nodes {
		from := &b.nodes[i]
		if from.Op.IsDesired() {
			b.addError(from.Step, errs[k])
		}
		for _, other := range waits[k] {
			j := nodes[other]
			switch to := &b.nodes[j]; {
			case from.Op.IsDesired() && to.Op.IsDesired():
				b.addDependency(i, j, false)
			case from.Op == Delete && to.Op == Delete:
				b.addDependency(j, i, false)
			case from.Op.IsDesired() && to.Op == Delete:
				b.addError(from.Step, fmt.Errorf("a change rule makes it wait until %s is deleted, but "+
					"objects are pruned after all others are applied; remove the rule, or remove the "+
					"other object in a run before", to.Ref))
			}
		}
	}
}

// addDependency records that node i depends on node j. An implied dependency, on a namespace or a
// definition, is satisfied by any object that exists; other dependencies only by one that is left
// unchanged on purpose. A dependency of a desired object is not deleted.
func (b *builder) addDependency(i, j int, implied bool) {
	from, to := &b.nodes[i], &b.nodes[j]
	from.dependsOn = append(from.dependsOn, j)
	switch {
	case from.Op.IsDesired() && to.Op.IsDesired():
		if to.Op != Skip || !to.stays() && (to.Have == nil || !implied) {
			from.needs = append(from.needs, j)
		}
	case from.Op.IsDesired() && to.Op == Delete:
		to.keepFor(from.Ref)
		to.needs = nil
	case from.Op == Orphan && to.Op == Delete && implied:
		// Deleting a namespace or a definition would delete the orphaned objects with it.
		to.Op, to.Wait, to.ReasonCode, to.ReasonRef = Orphan, false, ReasonContains, from.Ref
		to.Reason = fmt.Sprintf("%s is left in the cluster and cannot be without it", from.Ref)
		to.Patch, to.needs = b.in.Policy.Owner.releasePatch(to.Have), nil
	case from.Op.Removes() && to.Op == Delete:
		to.needs = append(to.needs, i)
	}
}

// stays reports whether the object is deliberately not written.
func (s *Step) stays() bool {
	return s.ReasonCode == ReasonCreateOnly && s.Have != nil || s.ReasonCode == ReasonExcluded
}

// definitions returns the nodes of the CustomResourceDefinitions by the kind that they define.
func (b *builder) definitions() map[schema.GroupKind]int {
	defined := map[schema.GroupKind]int{}
	for i, n := range b.nodes {
		if n.Ref.GroupKind() != DefinitionKind {
			continue
		}
		if gk, ok := DefinedKind(n.object()); ok {
			defined[gk] = i
		}
	}
	return defined
}

// DefinedKind returns the kind that a CustomResourceDefinition defines.
func DefinedKind(crd *unstructured.Unstructured) (schema.GroupKind, bool) {
	if crd == nil {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, group != "" && kind != ""
}

// Holds reports whether an object cannot exist without another one, the holder: because that is its
// namespace or the definition of its kind.
func Holds(holder *unstructured.Unstructured, ref object.Ref) bool {
	switch holder.GroupVersionKind().GroupKind() {
	case NamespaceKind:
		return ref.Namespace == holder.GetName()
	case DefinitionKind:
		defined, ok := DefinedKind(holder)
		return ok && ref.GroupKind() == defined
	}
	return false
}

// object returns the desired object, or else the live one.
func (n *node) object() *unstructured.Unstructured {
	if n.Want != nil {
		return n.Want
	}
	return n.Have
}

// impliedTargets returns the dependencies that the API implies: the namespace, and the definition
// of the kind.
func (b *builder) impliedTargets(i int, definitions map[schema.GroupKind]int) []int {
	var targets []int
	ref := b.nodes[i].Ref
	if j, ok := b.index[object.Ref{Kind: NamespaceKind.Kind, Name: ref.Namespace}]; ok &&
		ref.Namespace != "" {
		targets = append(targets, j)
	}
	if j, ok := definitions[ref.GroupKind()]; ok {
		targets = append(targets, j)
	}
	return targets
}

// declaredTargets returns the dependencies that the object itself declares, by order or by taking
// values. A removed object may name objects that do not exist any more; a desired one may not.
func (b *builder) declaredTargets(i int) []int {
	n := &b.nodes[i]
	if n.Op == Delete && n.Ref == b.in.Policy.RecordNamespace {
		return nil // the namespace of the record goes last, whatever it declares
	}
	refs, err := b.in.Policy.dependsOn(n.object())
	if n.Op.IsDesired() {
		b.addError(n.Step, err)
	} else {
		n.substitutions, _ = b.in.Policy.substitutions(n.object()) // only for the order
	}
	var targets []int
	find := func(ref object.Ref, takes bool) {
		if j, ok := b.index[ref]; ok {
			targets = append(targets, j)
		} else if n.Op.IsDesired() {
			b.addError(n.Step, &ExternalError{From: n.Ref, To: ref, TakesValue: takes,
				SuggestedKind: b.similarKind(ref, n.Ref.Namespace)})
		}
	}
	for _, ref := range refs {
		find(ref, false)
	}
	external := object.NewSet()
	for k := range n.substitutions {
		source := b.resolveSource(n.substitutions[k].Source, n.Ref.Namespace)
		n.substitutions[k].Source = source
		if _, ok := b.index[source]; ok || external.Insert(source) {
			find(source, true)
		}
	}
	if n.Draft != nil {
		n.Substitutions = n.substitutions
	}
	return targets
}

// similarKind returns the kind of a planned object that matches a reference in all but the case of
// its kind, or "". The namespace is that of the object that holds the reference.
func (b *builder) similarKind(ref object.Ref, namespace string) string {
	lower := func(ref object.Ref) object.Ref {
		ref.Kind = strings.ToLower(ref.Kind)
		return ref
	}
	if b.lower == nil {
		b.lower = make(map[object.Ref]int, len(b.nodes))
		for i, n := range slices.Backward(b.nodes) {
			b.lower[lower(n.Ref)] = i
		}
	}
	found, ok := b.lower[lower(ref)]
	if ref.Namespace == "" {
		ref.Namespace = namespace
		if at, within := b.lower[lower(ref)]; within && (!ok || at < found) {
			found, ok = at, true
		}
	}
	if !ok {
		return ""
	}
	return b.nodes[found].Ref.Kind
}

// resolveSource returns a source with the namespace of the object that names it, if the plan has
// such an object and the reference has no namespace.
func (b *builder) resolveSource(ref object.Ref, namespace string) object.Ref {
	near := ref
	near.Namespace = namespace
	if _, ok := b.index[near]; ok && ref.Namespace == "" {
		return near
	}
	return ref
}
