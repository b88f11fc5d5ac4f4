package packages

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// FindInventory returns the inventory with a name that is stored in a namespace: a ResourceGroup,
// or a ConfigMap of an older tool. It is an error if there is none.
func FindInventory(
	ctx context.Context, c Cluster, namespace, name string,
) (*inventory.Inventory, error) {
	group := object.Ref{
		Group: inventory.ResourceGroupKind.Group, Kind: inventory.ResourceGroupKind.Kind,
		Namespace: namespace, Name: name,
	}
	configMap := object.Ref{Kind: inventory.ConfigMapKind.Kind, Namespace: namespace, Name: name}
	found, err := c.Read(ctx, []cluster.Target{{Ref: group}, {Ref: configMap}})
	if err != nil {
		return nil, fmt.Errorf("find the record %s in namespace %s: %w", name, namespace, err)
	}
	for _, ref := range []object.Ref{group, configMap} {
		if obj := found.Objects[ref]; obj != nil && inventory.IDOf(obj.GetLabels()) != "" {
			inv, err := inventory.New(manifest.Object{Unstructured: obj})
			if err == nil {
				inv.Source = "the record in the cluster"
			}
			return inv, err
		}
	}
	return nil, fmt.Errorf("there is no record of a package with the name %q in namespace %s; "+
		"muster list -A shows all", name, namespace)
}
