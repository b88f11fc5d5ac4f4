package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

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
	if err := (writing{p.ServerSide, p.Manager, p.LastApplied}).decide(&step, want); err != nil {
		return step, &mutation.Error{Err: err}
	}
	step.Diff = discreet(step.Diff, sources)
	return step, nil
}

// discreet hides the changes that show what came from a Secret, which is shown nowhere else either.
func discreet(changes diff.Diff, sources map[object.Ref]*unstructured.Unstructured) diff.Diff {
	var secrets []string
	for ref, source := range sources {
		if ref.GroupKind() == secretKind && source != nil {
			data, _, _ := unstructured.NestedMap(source.Object, "data")
			for _, value := range data {
				if text, ok := value.(string); ok && text != "" {
					secrets = append(secrets, text)
				}
			}
		}
	}
	hidden := slices.Clone(changes)
	for i, change := range hidden {
		text, _ := json.Marshal([]any{change.Old, change.New}) // they came from JSON
		if !slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(string(text), secret) }) {
			continue
		}
		hidden[i].New = "***"
		if change.Old != nil {
			hidden[i].Old, hidden[i].New = "*** (before)", "*** (after)"
		}
	}
	return hidden
}

// Foresee gives a step as Complete would if all sources were as they are planned.
func (p *Plan) Foresee(step Step) (Step, error) {
	sources := map[object.Ref]*unstructured.Unstructured{}
	for _, s := range step.Substitutions {
		i := p.Find(s.Source)
		if i < 0 {
			continue
		}
		if p.Steps[i].Unknown != "" {
			return step, &mutation.Error{Err: &mutation.MissingError{Source: s.Source, Path: s.From}}
		}
		sources[s.Source] = p.Steps[i].planned(p.ServerSide)
	}
	return p.Complete(step, sources)
}

// foresee completes all steps that take values, as far as possible before the run. Sources come first in a plan.
func (p *Plan) foresee() {
	for i, step := range p.Steps {
		if step.Draft == nil {
			continue
		}
		foreseen, err := p.Foresee(step)
		if err != nil {
			p.Steps[i].Unknown = err.Error()
			continue
		}
		p.Steps[i] = foreseen
	}
}

// Find gives the step of an object, -1 if it has none.
func (p *Plan) Find(ref object.Ref) int {
	for i, step := range p.Steps {
		if step.Ref == ref && step.Op.IsObject() {
			return i
		}
	}
	return -1
}

// planned is the object as the step will leave it, as far as that is known; nil if it will not be there.
func (s *Step) planned(serverSide bool) *unstructured.Unstructured {
	switch {
	case s.Op == Create || s.Op == Update && !serverSide:
		return s.Want
	case s.Op == Update:
		return &unstructured.Unstructured{Object: overlaid(s.Have.Object, s.Want.Object)}
	default:
		return s.Have
	}
}

// overlaid is a map with the fields of another one in place of its own.
func overlaid(below, above map[string]any) map[string]any {
	result := maps.Clone(below)
	for key, value := range above {
		inner, isMap := value.(map[string]any)
		under, ok := below[key].(map[string]any)
		if isMap && ok {
			value = overlaid(under, inner)
		}
		result[key] = value
	}
	return result
}
