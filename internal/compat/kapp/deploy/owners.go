package deploy

import (
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// findLosses finds the deletions after which the garbage collector would delete objects that stay.
// What controllers created for an object goes with it.
func (r *Run) findLosses(existing []liveObject) {
	changed := map[liveObject]bool{}
	var fates []plan.Fate
	for _, c := range r.changes {
		changed[c.Existing] = true
		fates = append(fates, r.fate(c))
	}
	for _, obj := range slices.Concat(existing, r.others) {
		deployed := r.described.Has(object.RefOf(obj)) || !resource.IsTransient(obj)
		if !changed[obj] && deployed {
			r.unplanned = append(r.unplanned, obj)
			fates = append(fates, plan.Fate{Live: obj})
		}
	}
	r.owners = map[*change.Change]liveObject{}
	for _, loss := range plan.Losses(fates) {
		c, lost := r.changes[loss.Owner], fates[loss.Dependent].Live
		if lost == nil {
			lost = fates[loss.Dependent].Want
		}
		r.owners[c] = lost
	}
}

// fate returns what a change does to its object. One that a controller created stays only if it is
// described.
func (r *Run) fate(c *change.Change) plan.Fate {
	f := plan.Fate{Live: c.Existing}
	if op := c.ApplyOp(); op == change.Add || op == change.Update {
		f.Want = c.Applied
	}
	strategy, err := c.Strategy()
	f.Deleted = c.ApplyOp() == change.Delete && (err != nil || strategy != change.Orphan)
	if c.New == nil && c.Ignored && c.ApplyOp() != change.Delete {
		return plan.Fate{}
	}
	return f
}

// checkLosses returns an error if the garbage collector would delete an object that stays, after
// another one that the run deletes.
func (r *Run) checkLosses() error {
	for _, c := range r.changes {
		if lost := r.owners[c]; lost != nil {
			return fmt.Errorf("Refusing to delete %s: it owns %s, which stays and would be deleted with "+
				"it (hint: remove the owner reference from that, or delete the other with kubectl delete "+
				"--cascade=orphan)", resource.Describe(c.Object()), resource.Describe(lost))
		}
	}
	return nil
}
