package plan

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Annotate changes a step as the annotations of its object want that the policy names. It is for
// dialects that decide operations themselves. Want is the desired object; nil for a deletion. An
// Orphan step has no patch yet.
func (p Policy) Annotate(step *Step, want *unstructured.Unstructured) error {
	switch {
	case step.Op == Delete && step.keepIfForbidden(Owner{}, p.Annotations):
		step.Wait = false
		return nil
	case step.Op == Delete:
		waiting, _ := p.waiting(step.Have) // an invalid annotation must not block the deletion
		step.limit(waiting)
		return nil
	case want == nil || step.Op != Create && step.Op != Update && step.Op != Unchanged:
		return nil
	case step.skipIfForbidden(want, Owner{}, p.Annotations):
		step.Wait, step.FullReplace, step.Replace = false, false, ""
		return nil
	}
	waiting, err := p.waiting(want)
	if err != nil {
		return err
	}
	step.limit(waiting)
	if step.Op == Update && step.Replace == "" && p.Replacement != nil {
		step.Replace, err = p.Replacement(want)
	}
	return err
}

// limit limits the wait for the object of a step.
func (s *Step) limit(w Waiting) {
	s.Wait = s.Wait && !w.Skip
	if w.Timeout > 0 {
		s.Timeout = w.Timeout
	}
}

// SettleSkipped lets the steps that need an object which an annotation leaves unchanged continue
// when that step has settled, and keeps what orphaned objects cannot exist without: their
// namespaces and definitions are not deleted. Release sets the patch of an Orphan step.
func SettleSkipped(steps []Step, release func(*Step) error) error {
	for i := range steps {
		step := &steps[i]
		var needs []int
		for _, j := range step.Needs {
			if steps[j].Op == Skip && steps[j].ReasonCode == ReasonCreateOnly {
				step.After = append(step.After, j)
			} else {
				needs = append(needs, j)
			}
		}
		step.Needs = needs
		if step.Op != Delete {
			continue
		}
		for k := range steps {
			kept := &steps[k]
			if kept.Op != Orphan || !Holds(step.Have, kept.Ref) {
				continue
			}
			step.Op, step.Wait, step.ReasonCode, step.ReasonRef = Orphan, false, ReasonContains, kept.Ref
			step.Reason = kept.Ref.String() + " is left in the cluster and cannot be without it"
			if err := release(step); err != nil {
				return err
			}
			break
		}
	}
	return nil
}
