package engine

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
)

// LostError reports objects that were applied, and were gone or being deleted at the end of the
// run: the garbage collector deletes objects with their owners.
type LostError struct {
	Objects []object.Ref
	Owners  []string // of each of the objects
}

func (e *LostError) Error() string {
	var lines []string
	for i, ref := range e.Objects {
		lines = append(lines, fmt.Sprintf("%s is gone, although it was applied: its owner %s is not of "+
			"this set, and was deleted; apply again, without the owner reference", ref, e.Owners[i]))
	}
	return strings.Join(lines, "\n")
}

// checkLost reads the applied objects whose owners are all outside the set once more, and returns a
// *LostError for those that are gone. Without such objects it sends nothing.
func (r *run) checkLost(ctx context.Context) error {
	if r.interrupted || r.plan.Destroys {
		return nil
	}
	ours := map[types.UID]bool{}
	for i := range r.plan.Steps {
		if have := r.plan.Steps[i].Have; have != nil {
			ours[have.GetUID()] = true
		}
	}
	var targets []cluster.Target
	var owners []string
	for i := range r.plan.Steps {
		step, t := &r.plan.Steps[i], &r.tracks[i]
		if !step.Op.Applies() || t.acted != event.Succeeded || t.settled != event.Succeeded {
			continue
		}
		if owner, ok := ownerOutside(ours, step.Have, step.Want); ok {
			targets = append(targets, cluster.Target{Ref: step.Ref})
			owners = append(owners, owner)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(cluster.Finish(ctx, saveGrace), saveTimeout)
	defer cancel()
	live, err := r.engine.Cluster.Read(limited, targets)
	if err != nil {
		return nil // they existed when they were applied
	}
	lost := &LostError{}
	for i, target := range targets {
		obj := live.Objects[target.Ref]
		if obj == nil && !live.Unserved.Has(target.Ref) ||
			obj != nil && obj.GetDeletionTimestamp() != nil {
			lost.Objects, lost.Owners = append(lost.Objects, target.Ref), append(lost.Owners, owners[i])
		}
	}
	if len(lost.Objects) == 0 {
		return nil
	}
	return lost
}

// ownerOutside returns the first owner of an object if none of its owners is in the set. The live
// and the wanted object may have different owners; either may be nil.
func ownerOutside(
	ours map[types.UID]bool, objects ...*unstructured.Unstructured,
) (owner string, ok bool) {
	for _, obj := range objects {
		var refs []metav1.OwnerReference
		if obj != nil {
			refs = obj.GetOwnerReferences()
		}
		outside := len(refs) > 0
		for _, o := range refs {
			outside = outside && !ours[o.UID]
		}
		if outside {
			return strings.ToLower(refs[0].Kind) + "/" + refs[0].Name, true
		}
	}
	return "", false
}
