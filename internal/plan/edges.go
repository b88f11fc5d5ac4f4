package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// The API's own kinds that other objects cannot exist without.
var (
	NamespaceKind  = schema.GroupKind{Kind: "Namespace"}
	DefinitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// secretKind is the API's own kind whose content is never shown.
var secretKind = schema.GroupKind{Kind: "Secret"}

// connect turns dependencies into edges: an object that is applied needs what it depends on, and an object that is deleted
// needs what depends on it to be gone.
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
}

// addDependency records that node i depends on node j. An implied dependency (on a namespace or a definition) is met by an
// object that exists, whoever owns it, and any dependency by one that exists and is to be left as it is. What a wanted
// object depends on is not deleted.
func (b *builder) addDependency(i, j int, implied bool) {
	from, to := &b.nodes[i], &b.nodes[j]
	from.dependsOn = append(from.dependsOn, j)
	switch {
	case from.Op.Applies() && to.Op.Applies():
		if to.Op != Skip || to.Have == nil || !implied && to.ReasonCode != ReasonCreateOnly {
			from.needs = append(from.needs, j)
		}
	case from.Op.Applies() && to.Op == Delete:
		to.Op, to.Wait, to.ReasonCode, to.ReasonRef = Keep, false, ReasonDependency, from.Ref
		to.Reason, to.needs = fmt.Sprintf("%s depends on it", from.Ref), nil
	case from.Op == Orphan && to.Op == Delete && implied:
		// Deleting a namespace or a definition would delete what is to be left in the cluster.
		to.Op, to.Wait, to.ReasonCode, to.ReasonRef = Orphan, false, ReasonContains, from.Ref
		to.Reason = fmt.Sprintf("%s is left in the cluster and cannot be without it", from.Ref)
		to.Patch, to.needs = b.in.Policy.Owner.releasePatch(to.Have), nil
	case from.Op.Removes() && to.Op == Delete:
		to.needs = append(to.needs, i)
	}
}

// definitions finds the steps of the custom resource definitions by the kind that they define.
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

// DefinedKind reads from a CustomResourceDefinition which kind it defines.
func DefinedKind(crd *unstructured.Unstructured) (schema.GroupKind, bool) {
	if crd == nil {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, group != "" && kind != ""
}

// object is what the step is about: what is wanted, else what is there.
func (n *node) object() *unstructured.Unstructured {
	if n.Want != nil {
		return n.Want
	}
	return n.Have
}

// impliedTargets are the dependencies that the API itself makes: on the namespace and on the definition of the kind.
func (b *builder) impliedTargets(i int, definitions map[schema.GroupKind]int) []int {
	var targets []int
	ref := b.nodes[i].Ref
	if j, ok := b.index[object.Ref{Kind: NamespaceKind.Kind, Name: ref.Namespace}]; ok && ref.Namespace != "" {
		targets = append(targets, j)
	}
	if j, ok := definitions[ref.GroupKind()]; ok {
		targets = append(targets, j)
	}
	return targets
}

// declaredTargets are the dependencies that the object itself names: those that it comes after and those that it takes values from.
// An object that is going away may name ones that are gone already; a wanted object may not.
func (b *builder) declaredTargets(i int) []int {
	n := &b.nodes[i]
	if n.Op == Delete && n.Ref == b.in.Policy.RecordNamespace {
		return nil // the namespace of the record goes last, whatever it says
	}
	refs, err := b.in.Policy.dependsOn(n.object())
	if n.Op.Applies() {
		b.addError(n.Step, err)
	} else {
		n.substitutions, _ = b.in.Policy.substitutions(n.object()) // for their order alone
	}
	var targets []int
	find := func(ref object.Ref, takes bool) {
		if j, ok := b.index[ref]; ok {
			targets = append(targets, j)
		} else if n.Op.Applies() {
			b.addError(n.Step, &ExternalError{From: n.Ref, To: ref, TakesValue: takes, SuggestedKind: b.similarKind(ref, n.Ref.Namespace)})
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

// similarKind is the kind with which a reference would name an object of the plan, if nothing but the case of its kind is wrong.
// The namespace is that of the object that refers.
func (b *builder) similarKind(ref object.Ref, namespace string) string {
	for _, n := range b.nodes {
		near := n.Ref
		near.Kind = ref.Kind
		within := ref
		within.Namespace = namespace
		if strings.EqualFold(n.Ref.Kind, ref.Kind) && (near == ref || ref.Namespace == "" && near == within) {
			return n.Ref.Kind
		}
	}
	return ""
}

// resolveSource finds a source that was named without a namespace in the namespace of the object that names it. A kind is either
// in namespaces or not, so there is no choice between two.
func (b *builder) resolveSource(ref object.Ref, namespace string) object.Ref {
	near := ref
	near.Namespace = namespace
	if _, ok := b.index[near]; ok && ref.Namespace == "" {
		return near
	}
	return ref
}
