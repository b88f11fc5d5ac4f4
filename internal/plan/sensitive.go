package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// SecretTexts returns what hides the values of the Secrets of a plan in logs and messages.
func (p *Plan) SecretTexts() *diff.Masker {
	var objects []*unstructured.Unstructured
	for i := range p.Steps {
		step := &p.Steps[i]
		objects = append(objects, step.Want, step.Have, step.Draft)
	}
	return diff.SecretTexts(objects...)
}

// markSensitive marks the objects of which the policy says so, and those that hold values of
// Secrets: that take a value from a Secret, or from another marked object. Values that the live
// object took count too, because it still holds them.
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
		private := b.in.Policy.Sensitive
		if obj := b.nodes[i].object(); private != nil && obj != nil && private(obj) {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		step := &b.nodes[open[0]].Step
		open = open[1:]
		if !step.Sensitive {
			step.Sensitive, step.Diff = true, redactDiff(step.Diff)
			open = append(open, takers[step.Ref]...)
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
