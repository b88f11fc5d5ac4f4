package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// MigrationResult gives what becomes of an object that goes over to server-side apply: live is what the server makes of the first
// apply; fields that were applied on the client's side and are not wanted any more are gone.
func (p *Plan) MigrationResult(step *Step, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	_, result, err := diff.ThreeWay(readLastApplied(step.Have, p.LastApplied), step.Want, live)
	if err != nil {
		return nil, fmt.Errorf("compute the change: %w", err)
	}
	return result, nil
}

// Replan gives a step that creates or updates as Build would have made it if the object had been as it is now. Live is not nil.
func (p *Plan) Replan(step *Step, live *unstructured.Unstructured) (*Step, error) {
	next := *step
	next.Have = live
	switch {
	case step.Have == nil && next.skipIfForbidden(step.Want, p.Owner, p.CreateOnly), next.skipIfForbidden(step.Want, p.Owner, nil):
		return &next, nil
	case !p.ServerSide:
		return p.ReplanClientSide(step, live)
	}
	err := (writeMode{p.ServerSide, p.Manager, p.LastApplied}).decide(&next, step.Want)
	return &next, err
}

// ReplanClientSide gives a step that creates or updates as client-side apply makes it of the object as it is now; live is nil if there
// is none. It is also for servers that cannot merge a kind themselves.
func (p *Plan) ReplanClientSide(step *Step, live *unstructured.Unstructured) (*Step, error) {
	want := step.Want.DeepCopy()
	if !p.ServerSide && step.Have != nil { // Want is what becomes of the object; what the package has is kept in it
		if want = readLastApplied(step.Want, p.LastApplied); want == nil {
			return nil, errors.New("merge anew: what is wanted is not kept in the object")
		}
	}
	next := *step
	next.Have = live
	if err := (writeMode{lastApplied: p.LastApplied}).decide(&next, want); err != nil {
		return nil, err
	}
	return &next, nil
}
