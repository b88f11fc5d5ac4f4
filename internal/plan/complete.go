package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Complete gives a step that takes values from other objects as it is carried out: the draft with the values of the
// sources, and whether that is to be created, updated or is there already. All errors are of type *mutation.Error. It reads
// the plan alone and may be called concurrently.
func (p *Plan) Complete(step Step, sources map[object.Ref]*unstructured.Unstructured) (Step, error) {
	want, err := mutation.Apply(step.Draft, step.Substitutions, sources)
	if err != nil {
		return step, err
	}
	step.Unknown = ""
	if err := (writeMode{p.ServerSide, p.Manager, p.LastApplied}).decide(&step, want); err != nil {
		return step, &mutation.Error{Err: err}
	}
	if step.Sensitive {
		step.Diff = redactDiff(step.Diff)
	}
	return step, nil
}

// redactDiff hides the values of changes, which may tell what is in a Secret. Where there are two they differ.
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

// Index finds the steps of objects.
type Index map[object.Ref]int

// Index gives the index of the steps. It is made anew each time, so keep it.
func (p *Plan) Index() Index {
	index := make(Index, len(p.Steps))
	for i := range p.Steps {
		if op := p.Steps[i].Op; op != Barrier && op != Guard {
			index[p.Steps[i].Ref] = i
		}
	}
	return index
}

// Preview gives a step as Complete would if all sources were as they are planned. The index is that of the plan.
func (p *Plan) Preview(step Step, index Index) (Step, error) {
	sources := map[object.Ref]*unstructured.Unstructured{}
	for _, s := range step.Substitutions {
		i, ok := index[s.Source]
		if !ok {
			continue
		}
		if p.Steps[i].Unknown != "" {
			return step, &mutation.Error{Err: &mutation.MissingError{Source: s.Source, Path: s.From}}
		}
		sources[s.Source] = p.Steps[i].plannedObject(p.ServerSide)
	}
	return p.Complete(step, sources)
}

// previewAll completes all steps that take values, as far as possible before the run. Sources come first in a plan.
func (p *Plan) previewAll() {
	index := p.Index()
	for i, step := range p.Steps {
		if step.Draft == nil {
			continue
		}
		foreseen, err := p.Preview(step, index)
		if err != nil {
			p.Steps[i].Unknown = err.Error()
			continue
		}
		p.Steps[i] = foreseen
	}
}

// plannedObject is the object as the step will leave it, as far as that is known; nil if it will not be there.
func (s *Step) plannedObject(serverSide bool) *unstructured.Unstructured {
	switch {
	case s.Op == Create || s.Op == Update && !serverSide:
		return s.Want
	case s.Op == Update:
		return &unstructured.Unstructured{Object: overlayMaps(s.Have.Object, s.Want.Object)}
	default:
		return s.Have
	}
}

// overlayMaps is a map with the fields of another one in place of its own.
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
