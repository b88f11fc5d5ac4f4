package plan

import "github.com/muster-deploy/muster/internal/object"

// markSensitive finds the objects that hold values of Secrets: those that take one from a Secret, or from an object that does. What
// an object took when it was written last counts as well, since it still holds it.
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

// sourceRefs are the objects that the object of a node takes values from, as it is wanted and as it is. What is live is there
// already, so that nobody has to mend what it says.
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
