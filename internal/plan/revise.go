package plan

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// Leave makes a step change nothing, also if others change the object meanwhile. Nothing waits for
// that: it may have been unready before.
func (s *Step) Leave() {
	s.Op, s.Want, s.Wait = Unchanged, s.Have, false
	s.Patch, s.Disown, s.Diff, s.Contested = diff.Patch{}, diff.Patch{}, nil, nil
	s.Handover = diff.Patch{}
	s.Obstacles, s.TooMany, s.Unmerged = nil, nil, nil
	s.FullReplace, s.Force, s.Replace, s.Recreate = false, false, "", nil
	s.Draft, s.Substitutions, s.Unknown = nil, nil, ""
	s.ReasonCode, s.Reason, s.ReasonRef = "", "", object.Ref{}
	same := *s
	s.Reverts = func(live *unstructured.Unstructured) (*Step, error) {
		next := same
		next.Have, next.Want = live, live
		return &next, nil
	}
}

// Exclude makes a step not touch its object, which the plan is not for: a step that removes keeps
// it, and any other skips it.
func (s *Step) Exclude(reason string) {
	removes := s.Op.Removes()
	s.Leave()
	s.Op, s.ReasonCode, s.Reason = Skip, ReasonExcluded, reason
	if removes {
		s.Op = Keep
	}
}

// Guard lets the steps fail whose objects others change before their turn. Without it they are
// decided again for the objects as the server has them then. Compared returns what counts of an
// object; nil means all but what only the server writes.
func (p *Plan) Guard(compared func(*unstructured.Unstructured) *unstructured.Unstructured) {
	if compared == nil {
		compared = func(obj *unstructured.Unstructured) *unstructured.Unstructured { return obj }
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		have := step.Have
		if have == nil && step.Op != Create {
			continue
		}
		step.Permit = func(live *unstructured.Unstructured) error {
			if have == nil {
				return errors.New("others created it since the plan was made; plan again")
			}
			if len(diff.Between(compared(have), compared(live), diff.Options{})) > 0 {
				return errors.New("others changed it since the plan was made; plan again")
			}
			return nil
		}
	}
}

// withoutState are kinds whose objects are ready once they are written.
var withoutState = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
}

// WithoutState reports whether objects of a kind are ready once they are written.
func WithoutState(kind schema.GroupKind) bool { return withoutState[kind] }

// AwaitOnly changes the plan so that only some of the objects which are applied or deleted are
// waited for; nil: none is. A deletion that another step waits for still is. It reports whether a
// run then does not see if all applied objects are ready.
func (p *Plan) AwaitOnly(awaits func(object.Ref) bool) (unseen bool) {
	needed := map[int]bool{}
	for _, step := range p.Steps {
		for _, i := range slices.Concat(step.Needs, step.After) {
			needed[i] = true
		}
	}
	for i := range p.Steps {
		switch step := &p.Steps[i]; {
		case awaits != nil && awaits(step.Ref):
		case step.Op.IsDesired():
			unseen = unseen || step.Wait && !WithoutState(step.Ref.GroupKind())
			step.Wait = false
		case step.Op == Delete && !needed[i]:
			step.Wait = false
		}
	}
	return unseen
}

// LeavesUnknown reports whether objects stay in the record because the cluster cannot describe
// their kind now.
func (p *Plan) LeavesUnknown() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.ReasonCode == ReasonUnserved })
}
