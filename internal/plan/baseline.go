package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
)

// Completed returns the desired object of a step that takes values from others, with these values
// as the plan leaves them. The index is the plan's own. Errors are of type *mutation.Error.
func (p *Plan) Completed(step *Step, index Index) (*unstructured.Unstructured, error) {
	sources, err := p.sources(step, index)
	if err != nil {
		return nil, err
	}
	return mutation.Apply(step.Draft, step.Substitutions, sources)
}

// Baseline returns what the set desires of a live object, as its rules let a desired object replace
// that one: an object with the mark of the set that has live values where the rules leave fields to
// others. It modifies neither.
func (p *Plan) Baseline(want, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	mode := p.writeMode()
	applied, _, err := mode.base(live, want)
	if err != nil {
		return nil, err
	}
	want = mode.withoutBooks(object.WithoutServerAnnotations(want))
	if want, err = mode.fitted(mode.owner.marked(want), live, applied); err != nil {
		return nil, fmt.Errorf("apply the rules: %w", err)
	}
	return want, nil
}
