package e2e

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/local/laws"
)

// editByOthers changes every other object as another manager does.
func (b *batch) editByOthers() {
	b.t.Helper()
	edits := 0
	defer func() { b.t.Logf("%d objects were edited by others", edits) }()
	for i, m := range b.members {
		resources := b.resources(m.Object)
		live, err := resources.Get(b.t.Context(), m.versions[0].GetName(), metav1.GetOptions{})
		if err != nil {
			continue // a law has failed before
		}
		update := func(obj *unstructured.Unstructured, dryRun ...string) (
			*unstructured.Unstructured, error,
		) {
			return resources.Update(b.t.Context(), obj, metav1.UpdateOptions{
				DryRun: dryRun, FieldManager: "kubectl-edit",
			})
		}
		try := func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return update(obj, metav1.DryRunAll)
		}
		for _, edit := range b.editsOf(m, i, live, try) {
			edited := b.accept(live, edit, try)
			if edited == nil {
				continue
			}
			if _, err := update(edited); err == nil {
				m.others, m.byOthers = &edit, &edit
				edits++
				break
			}
		}
	}
}

// editsOf returns edits of a live object that others may make: the one that was made in the set of
// which this one is a part, or some at random, those of a random kind first.
func (b *batch) editsOf(
	m *member, i int, live *unstructured.Unstructured,
	try func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) []laws.Edit {
	switch {
	case m.byOthers != nil:
		return []laws.Edit{*m.byOthers}
	case b.smaller, i%2 == 0:
		return nil
	}
	kinds := laws.Changes
	kind := kinds[b.generator.Random.IntN(len(kinds))]
	edits := slices.Concat(b.generator.Focused(live, m.Kind, 20),
		b.generator.Edits(live, m.Kind, 20, kind))
	edits = append(b.unions(live, edits, try), b.generator.Edits(live, m.Kind, 6, kinds...)...)
	return slices.DeleteFunc(edits, func(e laws.Edit) bool {
		return isMark(e.Path.String()) || holdsMark(e.Path.Get(live.Object))
	})
}

// holdsMark reports whether a value is a map with marks of sets: an edit of it would concern them.
func holdsMark(value any) bool {
	fields, _ := value.(map[string]any)
	for name := range fields {
		if isMark(name) {
			return true
		}
	}
	return false
}

// unions returns the edits without switches of which the server accepts a half: the new member can
// be beside the other one, so that they are not those of a union.
func (b *batch) unions(
	live *unstructured.Unstructured, edits []laws.Edit,
	try func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) []laws.Edit {
	return slices.DeleteFunc(edits, func(e laws.Edit) bool {
		if e.Kind != "switch" {
			return false
		}
		e.Removed = nil
		_, err := try(e.Apply(live))
		return err == nil
	})
}
