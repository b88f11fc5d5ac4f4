package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Complete returns a step that takes values from other objects, with its draft completed from the
// sources and its operation decided. All errors are of type *mutation.Error. It only reads the plan
// and may be called concurrently.
func (p *Plan) Complete(
	step Step, sources map[object.Ref]*unstructured.Unstructured,
) (Step, error) {
	want, err := mutation.Apply(step.Draft, step.Substitutions, sources)
	if err == nil && p.Owner.Marks() && !p.Owner.Owns(want) {
		field, key := p.Owner.mark()
		err = &mutation.Error{Err: fmt.Errorf("the %s %s cannot be substituted: it names the owner of "+
			"the object", strings.TrimSuffix(field, "s"), key)}
	}
	if err != nil {
		return step, err
	}
	completed := step
	if err = p.writeMode().decide(&completed, want); err == nil {
		err = p.setRecreate(&completed)
	}
	if err != nil {
		return step, &mutation.Error{Err: err}
	}
	completed.Unknown = ""
	if completed.Sensitive {
		completed.Diff = redactDiff(completed.Diff)
	}
	return completed, nil
}

// redactDiff returns a diff without values, because they may reveal the content of a Secret. An old
// and a new value stay distinguishable.
func redactDiff(changes diff.Diff) diff.Diff {
	hidden := slices.Clone(changes)
	for i, change := range hidden {
		switch change.Kind {
		case diff.Added:
			hidden[i].New = "***"
		case diff.Removed:
			hidden[i].Old = "***"
		default:
			hidden[i].Old, hidden[i].New = "*** (before)", "*** (after)"
		}
	}
	return hidden
}

// Index maps objects to the indexes of their steps.
type Index map[object.Ref]int

// Index returns the index of the steps. Every call builds it, so callers should keep the result.
func (p *Plan) Index() Index {
	index := make(Index, len(p.Steps))
	for i := range p.Steps {
		if op := p.Steps[i].Op; op != Barrier && op != Guard {
			index[p.Steps[i].Ref] = i
		}
	}
	return index
}

// Preview returns a step as Complete would from the planned sources. The index is
// the plan's own.
func (p *Plan) Preview(step Step, index Index) (Step, error) {
	sources, err := p.sources(&step, index)
	if err != nil {
		return step, err
	}
	return p.Complete(step, sources)
}

// sources returns the objects that the object of a step takes values from, as the plan leaves them.
func (p *Plan) sources(
	step *Step, index Index,
) (map[object.Ref]*unstructured.Unstructured, error) {
	sources := map[object.Ref]*unstructured.Unstructured{}
	for _, s := range step.Substitutions {
		i, ok := index[s.Source]
		if !ok {
			continue
		}
		if p.Steps[i].Unknown != "" {
			return nil, &mutation.Error{Err: &mutation.MissingError{Source: s.Source, Path: s.From}}
		}
		sources[s.Source] = p.Steps[i].planned()
	}
	return sources, nil
}

// previewAll completes all steps that take values from other objects, as far as that is possible
// before the run. Sources come first in a plan.
func (p *Plan) previewAll() {
	index := p.Index()
	for i, step := range p.Steps {
		if step.Draft == nil {
			continue
		}
		completed, err := p.Preview(step, index)
		if err != nil {
			p.Steps[i].Unknown = err.Error()
			continue
		}
		p.Steps[i] = completed
	}
}

// planned returns the object as the step will leave it, as far as known, or nil if the object
// will not exist.
func (s *Step) planned() *unstructured.Unstructured {
	switch {
	case s.Op == Update && s.FullReplace:
		return withServerFields(s.Want, s.Have)
	case s.Op == Create || s.Op == Update && !s.ServerSide:
		return s.Want
	case s.Op == Update:
		return &unstructured.Unstructured{Object: overlayMaps(s.Have.Object, s.Want.Object)}
	default:
		return s.Have
	}
}

// serverFields are the fields of live objects that only the server and controllers write, and that
// stay when all others are replaced.
var serverFields = [][]string{{"status"}, {"metadata", "uid"}, {"metadata", "creationTimestamp"}}

// withServerFields returns an object that replaces a live one, with the server's fields of that.
func withServerFields(want, live *unstructured.Unstructured) *unstructured.Unstructured {
	want = want.DeepCopy()
	for _, path := range serverFields {
		value, found, _ := unstructured.NestedFieldCopy(live.Object, path...)
		if found { // cannot fail: live objects have the same metadata
			_ = unstructured.SetNestedField(want.Object, value, path...)
		}
	}
	return want
}

// Planned returns the object as an update will probably leave it.
func (p *Plan) Planned(step *Step) *unstructured.Unstructured {
	return step.planned()
}

// overlayMaps returns a copy of below in which the fields of above replace its own.
func overlayMaps(below, above map[string]any) map[string]any {
	result := maps.Clone(below)
	for key, value := range above {
		inner, isMap := value.(map[string]any)
		under, ok := below[key].(map[string]any)
		if isMap && ok {
			value = overlayMaps(under, inner)
		}
		result[key] = value
	}
	return result
}
