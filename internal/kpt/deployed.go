package kpt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// deployed is what inventories list: objects, and by the name of which inventory they are known.
type deployed struct {
	refs      []object.Ref
	inventory map[object.Ref]string
}

func (d *deployed) add(inventory string, refs []object.Ref) {
	for _, ref := range refs {
		if _, ok := d.inventory[ref]; !ok {
			d.refs = append(d.refs, ref)
			d.inventory[ref] = inventory
		}
	}
}

// find reads the inventory, or all that the cluster has if there is none.
func (f statusFlags) find(ctx context.Context, client *cluster.Client, inv *inventory) (*deployed, error) {
	found := &deployed{inventory: map[object.Ref]string{}}
	if inv == nil {
		return found, f.findAll(ctx, client, found)
	}
	state, err := (&resourceGroup{cluster: client, inventory: inv}).Load(ctx)
	if err != nil {
		return nil, err
	}
	found.add(inv.ref.Name, state.Refs())
	return found, nil
}

// open reads the inventory of a package; nil if no package is asked for.
func (f statusFlags) open(dir string) (*inventory, error) {
	if f.origin.value == "remote" {
		return nil, nil
	}
	return openInventory(dir)
}

// findAll reads the inventories of the cluster. One that does not know their kind has none.
func (f statusFlags) findAll(ctx context.Context, client *cluster.Client, found *deployed) error {
	groups, err := client.List(ctx, resourceGroupKind.GroupKind(), "")
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the inventories: %w", err)
	}
	for _, group := range groups {
		if len(f.inventories) == 0 || slices.Contains(f.inventories, group.GetName()) {
			found.add(group.GetName(), decode(group).Refs())
		}
	}
	return nil
}
