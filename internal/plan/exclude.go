package plan

import (
	"bytes"

	"github.com/muster-deploy/muster/internal/diff"
)

// Exclude returns the step of an update that the server has refused, since maps would have too many
// fields, decided again so that it removes what others have set there beside the fields of the
// manifest, or fields of others that are named; ok is false if that changes nothing.
func (p *Plan) Exclude(step *Step, tooMany []string) (next *Step, ok bool) {
	if len(tooMany) == 0 || len(step.TooMany) > 0 || step.Op != Update || step.Have == nil ||
		step.FullReplace || step.Reverts != nil || p.Decider != nil && !isApplied(step) {
		return nil, false
	}
	again := *step
	again.TooMany = tooMany
	var err error
	if p.Decider != nil {
		next, err = p.Decider.Exclude(&again)
	} else {
		next, err = p.Replan(&again, step.Have)
	}
	if err != nil || next.Op != Update {
		return nil, false
	}
	ok = len(next.Obstacles) > len(step.Obstacles) || !bytes.Equal(next.Patch.Data, step.Patch.Data)
	return next, ok
}

// isApplied reports whether a step applies an object server-side: one that only loses its mark is
// patched.
func isApplied(step *Step) bool { return step.ServerSide && len(step.Patch.Data) == 0 }

// Beside returns what diff.Beside does about an update whose live object has managed fields.
func (p *Plan) Beside(step *Step) ([]diff.ContestedField, error) {
	manifest, err := p.Manifest(step)
	if err != nil {
		return nil, err
	}
	applied, _, err := p.writeMode().base(step.Have, manifest)
	if err != nil {
		return nil, err
	}
	return diff.Beside(applied, manifest, step.Have, p.Manager)
}
