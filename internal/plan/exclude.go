package plan

import "bytes"

// Exclude returns the step of an update that the server has refused, since maps would have too many
// fields, decided again so that it removes what others have set there beside the fields of the
// manifest; ok is false if that changes nothing.
func (p *Plan) Exclude(step *Step, maps []string) (next *Step, ok bool) {
	if len(maps) == 0 || len(step.TooMany) > 0 || step.Op != Update || step.Have == nil ||
		step.FullReplace || step.Reverts != nil || p.Decider != nil && !isApplied(step) {
		return nil, false
	}
	again := *step
	again.TooMany = maps
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
