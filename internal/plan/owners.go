package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Fate is what a run does to one object of a set.
type Fate struct {
	Live    *unstructured.Unstructured // nil if it does not exist
	Want    *unstructured.Unstructured // written; nil if nothing is
	Deleted bool
}

// Loss is an object that stays and that the garbage collector would delete after its last owner:
// the indexes of both.
type Loss struct{ Owner, Dependent int }

// Losses returns which of the deleted objects have to stay, because the garbage collector would
// delete objects that stay with them, and one such object for each. An object is collected if all
// of its owners are deleted; one outside the set counts as existing. An owner that has to stay has
// owners itself: it comes after the object because of which it stays.
func Losses(fates []Fate) []Loss {
	going := goingOwners(fates)
	if len(going) == 0 {
		return nil
	}
	var losses []Loss
	staying := make([]int, 0, len(fates))
	for i := range fates {
		if !fates[i].Deleted {
			staying = append(staying, i)
		}
	}
	for at := 0; at < len(staying); at++ { // an owner that has to stay is added
		dependent := staying[at]
		for _, uids := range fates[dependent].owners() {
			if !allGoing(uids, going) {
				continue
			}
			for _, uid := range uids {
				if owner, ok := going[uid]; ok && owner >= 0 && owner != dependent {
					losses = append(losses, Loss{Owner: owner, Dependent: dependent})
					fates[owner].Deleted = false
					staying = append(staying, owner)
					delete(going, uid)
				}
			}
		}
	}
	return losses
}

// goingOwners returns the objects that will be gone by UID: the indexes of those that are deleted,
// and -1 for those whose deletion is under way. It changes the fates of the latter.
func goingOwners(fates []Fate) map[types.UID]int {
	going := map[types.UID]int{}
	for i, f := range fates {
		switch {
		case f.Live == nil || f.Live.GetUID() == "" || orphans(f.Live):
		case f.Live.GetDeletionTimestamp() != nil:
			going[f.Live.GetUID()] = -1
			fates[i].Deleted = true // whatever the run does, it is going
		case f.Deleted:
			going[f.Live.GetUID()] = i
		}
	}
	return going
}

// orphans reports whether an object is being deleted and leaves its dependents in the cluster.
func orphans(live *unstructured.Unstructured) bool {
	return live.GetDeletionTimestamp() != nil &&
		slices.Contains(live.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// owners returns the UIDs of the owners of an object before its update and after it. It must lose
// all of neither.
func (f *Fate) owners() [2][]types.UID { return [2][]types.UID{ownersOf(f.Live), ownersOf(f.Want)} }

// ownersOf returns the UIDs of the owners of an object, which may be nil.
func ownersOf(obj *unstructured.Unstructured) []types.UID {
	if obj == nil {
		return nil
	}
	var uids []types.UID
	for _, o := range obj.GetOwnerReferences() {
		uids = append(uids, o.UID)
	}
	return uids
}

// allGoing reports whether there are owners, and all of them are going.
func allGoing(owners []types.UID, going map[types.UID]int) bool {
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(uid types.UID) bool {
		_, ok := going[uid]
		return !ok
	})
}

// keepOwners keeps the objects that would be deleted and own what stays. It follows the edges.
func (b *builder) keepOwners() {
	if b.in.Policy.Propagation == metav1.DeletePropagationOrphan {
		return
	}
	fates := make([]Fate, len(b.nodes))
	for i := range b.nodes {
		fates[i] = b.nodes[i].fate()
	}
	for _, loss := range Losses(fates) {
		owner, dependent := &b.nodes[loss.Owner], &b.nodes[loss.Dependent]
		owner.needs = nil
		if dependent.Op == Orphan && dependent.ReasonCode != ReasonSameObject {
			owner.OrphanFor(dependent.Ref)
			owner.Patch = b.in.Policy.Owner.releasePatch(owner.Have)
			continue
		}
		owner.keepOwnerOf(dependent.Ref)
	}
}

// fate returns what a step does to its object.
func (s *Step) fate() Fate {
	f := Fate{Live: s.Have, Deleted: s.Op == Delete}
	if s.Op == Create || s.Op == Update {
		f.Want = s.Want
	}
	return f
}

// keepOwnerOf makes a step keep an object that it would delete, because one that stays would be
// deleted with it.
func (s *Step) keepOwnerOf(dependent object.Ref) {
	s.Op, s.Wait, s.ReasonCode, s.ReasonRef = Keep, false, ReasonOwner, dependent
	s.Reason = fmt.Sprintf("it owns %s, which stays and would be deleted with it; remove the owner "+
		"reference from that to delete it", dependent)
}

// OrphanFor makes a step leave an object in the cluster that it would delete, because one that is
// left there would be deleted with it.
func (s *Step) OrphanFor(dependent object.Ref) {
	s.Op, s.Wait, s.ReasonCode, s.ReasonRef = Orphan, false, ReasonOwner, dependent
	s.Reason = fmt.Sprintf("it owns %s, which is left in the cluster and would be deleted with it",
		dependent)
}

// OwnerError reports an object that is not deleted, because an object that stays would be deleted
// with it.
type OwnerError struct {
	Dependent object.Ref
	Err       error // why it would be recreated; may be nil
}

func (e *OwnerError) Error() string {
	text := fmt.Sprintf("it owns %s, which stays and would be deleted with it; remove the owner "+
		"reference from that, or delete it with kubectl delete --cascade=orphan, and apply again",
		e.Dependent)
	if e.Err != nil {
		text += "\n" + e.Err.Error()
	}
	return text
}

// Unwrap returns why the object would be recreated.
func (e *OwnerError) Unwrap() error { return e.Err }

// Dependent returns an object of the set that stays and would be deleted by the garbage collector
// if the one of a step was deleted to be recreated.
func (p *Plan) Dependent(step *Step) (object.Ref, bool) {
	fates := []Fate{{Live: step.Have, Deleted: true}}
	refs := []object.Ref{step.Ref}
	for i := range p.Steps {
		if other := &p.Steps[i]; other.Op.IsObject() && other.Ref != step.Ref {
			fates, refs = append(fates, other.fate()), append(refs, other.Ref)
		}
	}
	for _, obj := range p.Unplanned {
		fates, refs = append(fates, Fate{Live: obj}), append(refs, object.RefOf(obj))
	}
	for _, loss := range Losses(fates) {
		if loss.Owner == 0 {
			return refs[loss.Dependent], true
		}
	}
	return object.Ref{}, false
}
