package packages

import (
	"context"
	"errors"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// StatusTargets are the objects whose status is shown, and the inventories of each. Inventories may
// have the same name in different namespaces, and an object may be in several.
type StatusTargets struct {
	All    *object.Set
	Owners map[object.Ref][]object.Ref
	Remote bool         // several inventories, so that it has to be said which
	Locks  []lock.Set   // what runs lock that may create the objects
	Gone   []object.Ref // of an app: those of All that do not exist
	Hidden error        // why there may be more objects, which cannot be listed; nil if there are none
	// Finished is that of engine.ObserveOptions.
	Finished func(ctx context.Context, missing []object.Ref) map[object.Ref]string
}

// NewStatusTargets returns the objects of one record.
func NewStatusTargets(record object.Ref, locked lock.Set, refs []object.Ref) *StatusTargets {
	m := &StatusTargets{All: object.NewSet(), Owners: map[object.Ref][]object.Ref{}}
	m.add(record, locked, refs)
	return m
}

func (m *StatusTargets) add(inv object.Ref, locked lock.Set, refs []object.Ref) {
	m.Locks = append(m.Locks, locked)
	for _, ref := range refs {
		m.All.Insert(ref)
		m.Owners[ref] = append(m.Owners[ref], inv)
	}
}

// Inventories returns the inventories that an object belongs to.
func (m *StatusTargets) Inventories(ref object.Ref) []object.Ref { return m.Owners[ref] }

// LocalMembers returns the objects that one inventory lists. Notice receives advice on its format;
// it may be nil.
func LocalMembers(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, notice func(string),
) (*StatusTargets, error) {
	if notice != nil {
		inv.Advise(notice)
	}
	if err := CheckDefinition(ctx, c, inv); err != nil {
		return nil, err
	}
	state, err := inventory.NewStore(c, inv, true).Load(ctx)
	if err != nil {
		return nil, err
	}
	return NewStatusTargets(inv.Ref, LockSet(inv), state.Refs()), nil
}

// RemoteMembers returns the objects that the ResourceGroups of a namespace list, or those of all
// namespaces if it is empty; with names, only of the ResourceGroups with one of them. A damaged one
// is reported and left out.
func RemoteMembers(
	ctx context.Context, c cluster.Writer, namespace string, names []string, notice func(string),
) (*StatusTargets, error) {
	m := &StatusTargets{All: object.NewSet(), Owners: map[object.Ref][]object.Ref{}, Remote: true}
	records, err := listRecords(ctx, c, inventory.ResourceGroupKind.GroupKind(), namespace, nil)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		err = ErrNoDefinition
	}
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		switch {
		case len(names) > 0 && !slices.Contains(names, r.Inventory.Ref.Name):
		case r.Err != nil:
			notice("Warning: " + r.Err.Error())
		default:
			m.add(r.Inventory.Ref, LockSet(r.Inventory), r.State.Refs())
		}
	}
	return m, nil
}
