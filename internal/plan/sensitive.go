package plan

import "github.com/muster-deploy/muster/internal/object"

// markSensitive marks the objects that hold values of Secrets: those that take a value from a
// Secret, or from another marked object. Values that the live object took count too, because it
// still holds them.
func (b *builder) markSensitive() {
	takers := map[object.Ref][]int{}
	var open []int
	for i := range b.nodes {
		for _, source := range b.sourceRefs(i) {
			takers[source] = append(takers[source], i)
			if source.GroupKind() == secretKind {
				open = append(open, i)
			}
		}
	}
	for len(open) > 0 {
		n := &b.nodes[open[0]]
		open = open[1:]
		if !n.Sensitive {
			n.Sensitive, n.Diff = true, redactDiff(n.Diff)
			open = append(open, takers[n.Ref]...)
		}
	}
}

// sourceRefs returns the sources of an object's values, of the desired and of the live object.
// Errors of live objects are ignored, since they cannot be corrected.
func (b *builder) sourceRefs(i int) []object.Ref {
	n := &b.nodes[i]
	var refs []object.Ref
	for _, s := range n.substitutions {
		refs = append(refs, s.Source)
	}
	took, _ := b.in.Policy.substitutions(n.Have)
	for _, s := range took {
		refs = append(refs, b.resolveSource(s.Source, n.Ref.Namespace))
	}
	return refs
}
