package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Record is the record of a package in the cluster.
type Record struct {
	Inventory *inventory.Inventory
	Created   time.Time
	State     *record.State // nil if it cannot be read
	Err       error         // why it cannot be read; nil if it can
}

// List returns the records of all packages in a namespace, or in all namespaces if it is empty:
// first the ResourceGroups, then the ConfigMaps of older tools. If some cannot be listed, it
// returns the others together with the error.
func List(ctx context.Context, c cluster.Writer, namespace string) ([]Record, error) {
	groups, err := listRecords(ctx, c, inventory.ResourceGroupKind.GroupKind(), namespace, nil)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		err = nil // without the definition there are none
	}
	seen := object.NewSet()
	for _, key := range inventory.IDKeys {
		found, failed := listRecords(ctx, c, inventory.ConfigMapKind.GroupKind(), namespace,
			map[string]string{key: cluster.AnyValue})
		for _, r := range found {
			if seen.Insert(r.Inventory.Ref) {
				groups = append(groups, r)
			}
		}
		switch {
		case failed == nil:
		case err != nil && err.Error() == failed.Error(): // no server answers
			return groups, err
		default:
			return groups, errors.Join(err, failed)
		}
	}
	return groups, err
}

// listRecords returns the records in the objects of a kind that carry all of these labels. Objects
// that are no inventory are left out.
func listRecords(
	ctx context.Context, c cluster.Writer, kind schema.GroupKind, namespace string,
	with map[string]string,
) ([]Record, error) {
	found, err := c.List(ctx, kind, namespace, with)
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, obj := range found {
		inv, err := inventory.New(manifest.Object{Unstructured: obj})
		if err != nil {
			continue // a part of another, or somebody else's use of the kind
		}
		r := Record{Inventory: inv, Created: obj.GetCreationTimestamp().Time}
		if r.State, r.Err = inventory.NewStore(c, inv, true).StateOf(ctx, obj, found); r.Err != nil {
			r.State = nil
		}
		records = append(records, r)
	}
	return records, nil
}

// FindInventory returns the inventory with a name that is stored in a namespace: a ResourceGroup,
// or a ConfigMap of an older tool. It is an error if there is none.
func FindInventory(
	ctx context.Context, c cluster.Writer, namespace, name string,
) (*inventory.Inventory, error) {
	group := object.Ref{
		Group: inventory.ResourceGroupKind.Group, Kind: inventory.ResourceGroupKind.Kind,
		Namespace: namespace, Name: name,
	}
	configMap := object.Ref{Kind: inventory.ConfigMapKind.Kind, Namespace: namespace, Name: name}
	found, err := c.Read(ctx, []cluster.Target{{Ref: group, Record: true}, {Ref: configMap}})
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
	return nil, &NoRecordError{Namespace: namespace, Name: name}
}

// RecordInventory returns the inventory with a name that is stored in a namespace or, if there is
// none, that of a new ResourceGroup. Its ID depends on both names alone, so that all who begin with
// it mean the same.
func RecordInventory(
	ctx context.Context, c cluster.Writer, namespace, name string,
) (*inventory.Inventory, error) {
	inv, err := FindInventory(ctx, c, namespace, name)
	if none := (*NoRecordError)(nil); !errors.As(err, &none) {
		return inv, err
	}
	if _, err := definitionServed(ctx, c); err != nil { // else there may be one
		return nil, fmt.Errorf("find the record %s in namespace %s: %w", name, namespace, err)
	}
	return NewInventory(namespace, name)
}

// NewInventory returns the inventory of a ResourceGroup that a record has not been stored in yet.
func NewInventory(namespace, name string) (*inventory.Inventory, error) {
	sum := sha256.Sum256([]byte(namespace + ":" + name))
	inv, err := InitOptions{Name: name, ID: hex.EncodeToString(sum[:20])}.inventory(namespace)
	if err != nil {
		return nil, fmt.Errorf("name the record of the package: %w", err)
	}
	inv.Annotations, inv.Source = map[string]string{}, "the name of the record"
	return inv, nil
}

// NoRecordError reports that there is no record of a package with a name.
type NoRecordError struct{ Namespace, Name string }

func (e *NoRecordError) Error() string {
	return fmt.Sprintf("there is no record of a package with the name %q in namespace %s; "+
		"muster list -A shows all", e.Name, e.Namespace)
}
