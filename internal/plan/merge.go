package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// MigrationResult returns the object after a server-side apply that takes over what was applied in
// another way, or what its manager has updated. Live is the server's answer to the apply alone, by
// says whose fields it takes over.
func (p *Plan) MigrationResult(
	step *Step, live *unstructured.Unstructured, by diff.Applier,
) (*unstructured.Unstructured, error) {
	kept := p.LastApplied
	if !p.ServerSide {
		kept = "" // it does not fit any more
	}
	after, err := diff.AfterAdoption(live, step.Want, step.Have, by, kept)
	if err != nil || step.Released == nil {
		return after, err
	}
	return diff.WithoutFields(after, step.Released), nil
}

// Replan returns a step decided again for the present live object, which is not nil.
func (p *Plan) Replan(step *Step, live *unstructured.Unstructured) (*Step, error) {
	next := *step
	next.Have = live
	switch {
	case step.Op.Removes():
		return p.replanRemoval(&next)
	case step.Have == nil && next.skipIfForbidden(step.Want, p.Owner, p.Annotations),
		next.skipIfForbidden(step.Want, p.Owner, Annotations{}):
		return &next, nil
	}
	return p.redecide(step, live, p.writeMode())
}

// redecide returns a step decided again in a mode of writing. Live is nil if the object does not
// exist.
func (p *Plan) redecide(
	step *Step, live *unstructured.Unstructured, mode writeMode,
) (*Step, error) {
	want, err := p.described(step)
	if err != nil {
		return nil, err
	}
	next := *step
	next.Have = live
	if err := mode.decide(&next, want); err != nil {
		return nil, err
	}
	next.Released = step.Released // Want may lack fields that are left to others
	return &next, p.setRecreate(&next)
}

// described returns a copy of the desired object of a step that creates or updates.
func (p *Plan) described(step *Step) (*unstructured.Unstructured, error) {
	switch {
	case step.Desired != nil:
		return step.Desired.DeepCopy(), nil
	case !p.mergesByServer(step) && step.Have != nil:
		// Want is the merged object, whose annotation holds the desired one.
		want := appliedTo(step.Want, p.LastApplied)
		if want == nil {
			return nil, errors.New("merge again: the object lacks the applied configuration")
		}
		return want, nil
	case p.mergesByServer(step) && step.Recreate != nil:
		return step.Recreate.DeepCopy(), nil // with the fields that were left out before
	default:
		return step.Want.DeepCopy(), nil
	}
}

// mergesByServer reports whether Want of a step is what is sent to the server to be merged.
func (p *Plan) mergesByServer(step *Step) bool { return p.ServerSide || step.ServerSide }

// replanRemoval decides again about an object that is no longer desired. One that was to stay is
// not deleted, whatever has changed: nobody saw that coming.
func (p *Plan) replanRemoval(step *Step) (*Step, error) {
	if step.Op != Delete {
		step.Patch = p.Owner.releasePatch(step.Have)
		return step, nil
	}
	step.keepIfForbidden(p.Owner, p.Annotations)
	return step, nil
}

// ReplanClientSide returns a step that creates or updates, decided again by client-side apply. Live
// is nil if the object does not exist. It also serves kinds that the server cannot merge itself.
func (p *Plan) ReplanClientSide(step *Step, live *unstructured.Unstructured) (*Step, error) {
	mode := p.writeMode()
	mode.serverSide, mode.strict = false, true
	return p.redecide(step, live, mode)
}

// setRecreated sets what is created in place of the objects that are always replaced. Those that
// take values from others get it with these values.
func (p *Plan) setRecreated() error {
	for i := range p.Steps {
		if p.Steps[i].Draft != nil {
			continue
		}
		if err := p.setRecreate(&p.Steps[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Steps[i].Ref, err)
		}
	}
	return nil
}

// setRecreate sets what is created in place of the object of a step if that is always replaced.
func (p *Plan) setRecreate(step *Step) (err error) {
	if step.Replace != ReplaceAlways || step.Op != Update {
		return nil
	}
	if !p.mergesByServer(step) {
		step.Recreate = nil
	}
	step.Recreate, err = p.Manifest(step)
	return err
}

// Manifest returns the object that is created in place of the live one of an update: what is
// applied, without fields that others set.
func (p *Plan) Manifest(step *Step) (*unstructured.Unstructured, error) {
	if step.Recreate != nil {
		return step.Recreate, nil
	}
	want := step.Want.DeepCopy()
	if !p.mergesByServer(step) && p.LastApplied != "" {
		if step.Desired != nil {
			want = step.Desired.DeepCopy()
		} else if want = appliedTo(step.Want, p.LastApplied); want == nil {
			return nil, errors.New("recreate: the object lacks the applied configuration")
		}
		if _, err := p.writeMode().keepApplied(want); err != nil {
			return nil, err
		}
		step.keepReplicas(want)
		return p.writeMode().sealed(diff.PruneNulls(want), nil), nil
	}
	step.keepReplicas(want)
	return diff.PruneNulls(want), nil
}
