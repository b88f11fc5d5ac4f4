package packages

import (
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// withApplySetLabel returns the objects of a package that is an ApplySet with its label. Other
// packages are returned without a change.
func withApplySetLabel(
	inv *inventory.Inventory, desired []plan.Desired,
) ([]plan.Desired, error) {
	if !inv.IsApplySet() {
		return desired, nil
	}
	id := inv.ApplySetID()
	labelled := make([]plan.Desired, len(desired))
	var errs []error
	for i, d := range desired {
		if other, has := object.LabelsOf(d.Object).Lookup(owner.ApplySetLabel); has && other != id {
			errs = append(errs, fmt.Errorf("%s: %s: the label %s names another ApplySet: take it out",
				d.Source, object.RefOf(d.Object), owner.ApplySetLabel))
		}
		labelled[i] = d
		labelled[i].Object = object.WithMetadata(d.Object, func(metadata map[string]any) {
			labels, _ := metadata["labels"].(map[string]any)
			if labels == nil {
				labels = map[string]any{}
			}
			labels[owner.ApplySetLabel] = id
			metadata["labels"] = labels
		})
	}
	return labelled, errors.Join(errs...)
}

// CheckNoApplySet returns an error for a package that is an ApplySet. The text says what cannot be
// done to one, as in: renamed.
func CheckNoApplySet(inv *inventory.Inventory, text string) error {
	if !inv.IsApplySet() {
		return nil
	}
	return fmt.Errorf("package %q is an ApplySet, whose objects carry a label with its name, and "+
		"cannot be %s: take the annotation %s out of %s and apply first", inv.Ref.Name, text,
		inventory.ApplySetKey, inv.Source)
}
