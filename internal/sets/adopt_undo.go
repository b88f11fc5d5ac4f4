package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// Adopted is an adoption that was made and can be undone.
type Adopted struct {
	set     Set
	cluster cluster.Writer
	store   *undoStore
	undo    *undoInfo
}

// OpenAdopted returns the adoption by which a set came from another tool. A set that was not
// adopted, or whose adoption is final, is an error.
func OpenAdopted(ctx context.Context, c cluster.Writer, set Set) (*Adopted, error) {
	namespace, name := set.Name()
	store := newUndoStore(c, set.format(), namespace, name)
	undo, err := store.load(ctx)
	if err != nil {
		return nil, err
	}
	if undo == nil {
		return nil, fmt.Errorf("%s was not adopted, or its adoption is final: nothing is kept of how it "+
			"was before", set.Title())
	}
	return &Adopted{set, c, store, undo}, undo.checkOf(ctx, c, set)
}

// From returns what messages call the set as its tool had it.
func (a *Adopted) From() string { return a.undo.From.Title }

// Retired reports whether the adoption was completed.
func (a *Adopted) Retired() bool { return a.undo.Retired }

// Objects returns the number of the adopted objects.
func (a *Adopted) Objects() int { return len(a.undo.Objects) }

// Locks returns what is locked while the adoption is undone, in order.
func (a *Adopted) Locks() []lock.Set {
	return []lock.Set{AdoptionLock(a.undo.Request), a.set.lock()}
}

// CheckCurrent returns an error if another run has changed the adoption since it was opened. It is
// called under the locks.
func (a *Adopted) CheckCurrent(ctx context.Context) error { return a.store.checkCurrent(ctx) }

// Undo restores the record of the other tool first, then the marks of the objects, and deletes the
// record of the set. It returns the objects that are not the adopted ones any more: they are left
// alone.
func (a *Adopted) Undo(ctx context.Context) (others []object.Ref, err error) {
	if err := a.CheckUndo(ctx); err != nil {
		return nil, err
	}
	if err := a.store.setState(ctx, stateUndoing); err != nil {
		return nil, fmt.Errorf("store that the undo begins: %w; run the same command again", err)
	}
	for _, change := range slices.Backward(a.undo.From.Record) { // the newest first
		change.Patch = change.Undo
		if err := makeChange(ctx, a.cluster, change); err != nil {
			return nil, fmt.Errorf("restore %s: %w; run the same command again", change.Ref, err)
		}
	}
	for _, obj := range a.undo.Objects {
		same, err := restoreObject(ctx, a.cluster, obj)
		if err != nil {
			return nil, fmt.Errorf("restore %s: %w; run the same command again", obj.Ref, err)
		}
		if !same {
			others = append(others, obj.Ref)
		}
	}
	found, err := a.set.History(ctx, a.cluster)
	if err != nil {
		return nil, err
	}
	if found.ID != "" { // before the record, without which nobody would find it
		if err := storeOf(a.cluster, found).DeleteAll(ctx); err != nil {
			return nil, fmt.Errorf("delete the history: %w; run the same command again", err)
		}
	}
	if err := a.set.remove(ctx, a.cluster); err != nil {
		return nil, fmt.Errorf("delete the record: %w; run the same command again", err)
	}
	return others, a.store.delete(ctx)
}

// CheckUndo returns an error if the adoption cannot be undone as a whole. It changes nothing.
func (a *Adopted) CheckUndo(ctx context.Context) error {
	if err := a.reload(ctx); err != nil {
		return err
	}
	if a.undo.Finishing {
		return fmt.Errorf("the adoption of %s by %s is final: run adopt --finish again, which was "+
			"interrupted", a.undo.From.Title, a.set.Title())
	}
	if err := a.undo.From.CheckRestorable(ctx, a.cluster, a.undo.Retired); err != nil {
		return err
	}
	return a.checkMembers(ctx)
}

// reload reads again what is stored, once the sets are locked.
func (a *Adopted) reload(ctx context.Context) error {
	now, err := OpenAdopted(ctx, a.cluster, a.set)
	if err == nil {
		a.undo = now.undo
	}
	return err
}

// checkMembers returns an error if the set has objects that were not adopted, or that replaced
// those: nobody would own them after an undo.
func (a *Adopted) checkMembers(ctx context.Context) error {
	targets, err := a.set.Targets(ctx, a.cluster)
	noApp, noPackage := (*NoRecordError)(nil), (*packages.NoRecordError)(nil)
	if errors.As(err, &noApp) || errors.As(err, &noPackage) {
		return nil // an earlier undo has deleted the record
	}
	if err != nil {
		return err
	}
	own, err := ownerOf(ctx, a.cluster, a.set)
	if err != nil {
		return err
	}
	reads := make([]cluster.Target, 0, targets.All.Len())
	for _, ref := range targets.All.Refs() {
		reads = append(reads, cluster.Target{Ref: ref})
	}
	live, err := a.cluster.Read(ctx, reads)
	if err == nil {
		err = live.Check()
	}
	if err != nil {
		return err
	}
	var later []string
	for _, target := range reads {
		if obj := live.Objects[target.Ref]; obj != nil && !a.undo.restores(obj, own) {
			later = append(later, target.Ref.String())
		}
	}
	if len(later) == 0 {
		return nil
	}
	slices.Sort(later)
	return fmt.Errorf("%s has objects that %s did not have, or that were created again since, and "+
		"nobody would own them after an undo; nothing was changed: %s\nkeep the set, or take their "+
		"manifests out: objects with the annotation %s: keep are left in the cluster by the next apply",
		a.set.Title(), a.undo.From.Title, strings.Join(later, ", "), adopt.KeepOnRemoval)
}

// restores reports whether a live object has nothing of the adopting set after an undo: it is an
// adopted one, or one of the old set that the adopting set has not marked.
func (u *undoInfo) restores(live *unstructured.Unstructured, own owner.Owner) bool {
	ref := object.RefOf(live)
	if slices.ContainsFunc(u.Objects, func(obj adoptedObject) bool {
		return obj.Ref == ref && obj.UID == live.GetUID()
	}) {
		return true
	}
	return !slices.ContainsFunc(owner.Of(live), own.Is) &&
		slices.ContainsFunc(u.From.Objects, func(obj adopt.Object) bool { return obj.Ref == ref })
}

// Finish makes the adoption final: it deletes what an undo needs, and of the record of the other
// tool what nobody needs any more.
func (a *Adopted) Finish(ctx context.Context) error {
	if err := a.reload(ctx); err != nil {
		return err
	}
	if a.undo.Undoing {
		return errors.New("the undo of this adoption was interrupted: give it again with adopt --undo")
	}
	if !a.undo.Retired {
		return fmt.Errorf("the adoption of %s by %s was interrupted: complete it with the same command "+
			"as before, or undo it", a.undo.From.Title, a.set.Title())
	}
	if err := a.store.setState(ctx, stateFinishing); err != nil {
		return fmt.Errorf("store that the adoption is final: %w; run the same command again", err)
	}
	for _, change := range a.undo.From.Record {
		if !change.Obsolete {
			continue
		}
		_, err := a.cluster.Delete(ctx, cluster.Delete{Ref: change.Ref, UID: change.UID})
		if err != nil {
			return fmt.Errorf("delete %s: %w; run the same command again", change.Ref, err)
		}
	}
	return a.store.delete(ctx)
}
