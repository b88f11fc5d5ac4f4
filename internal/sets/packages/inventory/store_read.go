package inventory

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// findByName returns the object that an inventory names, or nil. It returns an error if the object
// has another ID.
func findByName(
	ctx context.Context, c cluster.Writer, inv *Inventory, version string,
) (*unstructured.Unstructured, error) {
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: inv.Ref, Version: version, Record: true}})
	if err == nil {
		err = snapshot.Broken
	}
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	stored := snapshot.Objects[inv.Ref]
	if stored == nil {
		return nil, nil
	}
	if id := IDOf(stored.GetLabels()); id != inv.ID {
		return nil, &MismatchError{
			ref:     inv.Ref,
			stored:  id,
			Want:    inv.ID,
			shardOf: stored.GetLabels()[shardOfKey],
		}
	}
	return stored, nil
}

// IsNameTaken reports whether the cluster is known to have a record with the name of an inventory
// and another ID.
func (inv *Inventory) IsNameTaken(ctx context.Context, c cluster.Writer) bool {
	_, err := findByName(ctx, c, inv, ResourceGroupKind.Version)
	return errors.As(err, new(*MismatchError))
}

// checkMembers returns an error for members whose namespace does not fit their kind, as after a
// manual edit. A kind with a definition may have had the other scope before its definition was
// deleted and created again; such members do not exist any more, and are no error.
func checkMembers(
	ctx context.Context, c cluster.Writer, inv *Inventory, members []object.Ref,
) error {
	var errs []error
	for _, ref := range members {
		kind, err := c.Kind(ctx, ref.GroupKind())
		unknown := (*cluster.UnknownKindError)(nil)
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return err
		case kind.Fits(ref):
			continue
		}
		defined, err := isDefined(ctx, c, kind)
		switch {
		case err != nil:
			return err
		case defined:
			continue
		case ref.Namespace == "":
			errs = append(errs, fmt.Errorf("it lists %s without a namespace, which its kind has", ref))
		default:
			errs = append(
				errs, fmt.Errorf("it lists %s with a namespace, which its kind does not have", ref),
			)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &unreadableError{ref: inv.Ref, cause: err}
	}
	return nil
}

// isDefined reports whether a kind has a definition.
func isDefined(ctx context.Context, c cluster.Writer, kind cluster.Kind) (bool, error) {
	definition := object.Ref{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
		Name: kind.Resource.GroupResource().String(),
	}
	found, err := c.Read(ctx, []cluster.Target{{Ref: definition, Version: "v1"}})
	if err != nil {
		return false, err
	}
	return found.Objects[definition] != nil, nil
}
