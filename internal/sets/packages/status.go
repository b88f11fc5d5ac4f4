package packages

import (
	"context"
	"errors"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// LocalMembers returns the objects that one inventory lists. Notice receives advice on its format;
// it may be nil.
func LocalMembers(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, notice func(string),
) (*operation.StatusTargets, error) {
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
	return operation.NewStatusTargets(inv.Ref, LockSet(inv), state.Refs()), nil
}

// RemoteMembers returns the objects that the ResourceGroups of a namespace list, or those of all
// namespaces if it is empty; with names, only of the ResourceGroups with one of them. A damaged one
// is reported and left out.
func RemoteMembers(
	ctx context.Context, c cluster.Writer, namespace string, names []string, notice func(string),
) (*operation.StatusTargets, error) {
	m := &operation.StatusTargets{
		All: object.NewSet(), Owners: map[object.Ref][]object.Ref{}, Remote: true,
	}
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
			m.Add(r.Inventory.Ref, LockSet(r.Inventory), r.State.Refs())
		}
	}
	return m, nil
}
