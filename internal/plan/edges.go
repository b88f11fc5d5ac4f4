package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// These two are the API's own kinds that other objects cannot exist without.
var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	crdKind       = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// connect turns dependencies into edges: an object that is applied needs what it depends on, and an object that is deleted
// needs what depends on it to be gone.
func (b *builder) connect() {
	definitions := b.definitions()
	for i := range b.nodes {
		for _, target := range b.implied(i, definitions) {
			b.depend(i, target, true)
		}
		for _, target := range b.declared(i) {
			b.depend(i, target, false)
		}
	}
}

// depend records that node i depends on node j. An implied dependency (on a namespace or a definition) is met by an
// object that exists, whoever owns it. What a wanted object depends on is not deleted.
func (b *builder) depend(i, j int, implied bool) {
	from, to := &b.nodes[i], &b.nodes[j]
	from.on = append(from.on, j)
	switch {
	case from.Op.Applies() && to.Op.Applies():
		if !implied || to.Op != Skip || to.Have == nil {
			from.needs = append(from.needs, j)
		}
	case from.Op.Applies() && to.Op == Delete:
		to.Op, to.Wait, to.Reason = Keep, false, fmt.Sprintf("%s depends on it", from.Ref)
	case from.Op == Orphan && to.Op == Delete && implied:
		// Deleting a namespace or a definition would delete what is to be left in the cluster.
		to.Op, to.Wait, to.Reason = Orphan, false, fmt.Sprintf("%s is left in the cluster and cannot be without it", from.Ref)
		to.Patch, to.needs = b.in.Policy.Owner.release(to.Have), nil
	case from.Op.Removes() && to.Op == Delete:
		to.needs = append(to.needs, i)
	}
}

// definitions finds the steps of the custom resource definitions by the kind that they define.
func (b *builder) definitions() map[schema.GroupKind]int {
	defined := map[schema.GroupKind]int{}
	for i, n := range b.nodes {
		if n.Ref.GroupKind() != crdKind {
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

// implied are the dependencies that the API itself makes: on the namespace and on the definition of the kind.
func (b *builder) implied(i int, definitions map[schema.GroupKind]int) []int {
	var targets []int
	ref := b.nodes[i].Ref
	if j, ok := b.index[object.Ref{Kind: namespaceKind.Kind, Name: ref.Namespace}]; ok && ref.Namespace != "" {
		targets = append(targets, j)
	}
	if j, ok := definitions[ref.GroupKind()]; ok {
		targets = append(targets, j)
	}
	return targets
}

// declared are the dependencies that the object itself names. An object that is going away may name ones that are gone
// already; a wanted object may not.
func (b *builder) declared(i int) []int {
	n := &b.nodes[i]
	if b.in.Policy.DependsOn == nil || n.object() == nil || n.Op == Delete && n.Ref == b.in.Policy.Home {
		return nil // the namespace of the record goes last, whatever it says
	}
	refs, err := b.in.Policy.DependsOn(n.object())
	if err != nil && n.Op.Applies() {
		b.errs = append(b.errs, named(n.Step, err))
	}
	var targets []int
	for _, ref := range refs {
		j, ok := b.index[ref]
		switch {
		case ok:
			targets = append(targets, j)
		case n.Op.Applies():
			b.errs = append(b.errs, named(n.Step, &ExternalError{From: n.Ref, To: ref}))
		}
	}
	return targets
}

// CycleError says that objects depend on each other in a circle, so that none of them can come first. Refs is the whole
// circle: each object depends on the one after it, the last on the first.
type CycleError struct{ Refs []object.Ref }

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("cyclic dependency:")
	for i, ref := range e.Refs {
		fmt.Fprintf(&b, "\n- %s -> %s", ref, e.Refs[(i+1)%len(e.Refs)])
	}
	return b.String()
}

// findCycle walks the needs depth first, in order, and returns the first circle as a *CycleError.
func (b *builder) findCycle() error {
	const unseen, open, closed = 0, 1, 2
	state := make([]int, len(b.nodes))
	next := make([]int, len(b.nodes)) // how many of a node's needs were followed
	for root := range b.nodes {
		path := []int{root}
		for len(path) > 0 && state[root] != closed {
			i := path[len(path)-1]
			state[i] = open
			if next[i] == len(b.nodes[i].needs) {
				state[i] = closed
				path = path[:len(path)-1]
				continue
			}
			j := b.nodes[i].needs[next[i]]
			next[i]++
			switch state[j] {
			case unseen:
				path = append(path, j)
			case open:
				return b.cycle(path[slices.Index(path, j):])
			}
		}
	}
	return nil
}

// cycle names a circle of nodes in the direction in which the objects depend on each other, from its smallest member.
func (b *builder) cycle(path []int) error {
	refs := make([]object.Ref, len(path))
	for k, i := range path {
		refs[k] = b.nodes[i].Ref
	}
	if b.nodes[path[0]].Op.Removes() {
		slices.Reverse(refs)
	}
	first := slices.Index(refs, slices.MinFunc(refs, object.Compare))
	return &CycleError{Refs: slices.Concat(refs[first:], refs[:first])}
}
