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
	ctx context.Context, c Cluster, inv *Inventory, version string,
) (*unstructured.Unstructured, error) {
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: inv.Ref, Version: version}})
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

// checkMembers returns an error for members whose namespace does not fit their kind, as after a
// manual edit.
func checkMembers(ctx context.Context, c Cluster, inv *Inventory, members []object.Ref) error {
	var errs []error
	for _, ref := range members {
		kind, err := c.Kind(ctx, ref.GroupKind())
		unknown := (*cluster.UnknownKindError)(nil)
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return err
		case kind.Namespaced && ref.Namespace == "":
			errs = append(errs, fmt.Errorf("it lists %s without a namespace, which its kind has", ref))
		case !kind.Namespaced && ref.Namespace != "":
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
