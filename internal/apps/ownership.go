package apps

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// checkOwner returns an error for a live object that belongs to another app.
func (d *Deployment) checkOwner(ctx context.Context, input, live liveObject) error {
	if line := d.ownershipConflict(ctx, input, live); line != "" {
		return ownershipError([]string{line})
	}
	return nil
}

// ownershipError returns the error for resources that belong to other apps; nil for none.
func ownershipError(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return errors.New("Ownership errors:\n" + strings.Join(lines, "\n"))
}

// ownershipConflict returns the line for a live object that belongs to another app; empty for one
// that this app may adopt.
func (d *Deployment) ownershipConflict(ctx context.Context, input, live liveObject) string {
	owner := d.otherOwner(input, live)
	if owner == "" {
		return ""
	}
	if d.owners == nil {
		d.owners = map[string]string{}
	}
	if d.owners[owner] == "" {
		d.owners[owner] = d.describeOwner(ctx, owner)
	}
	return fmt.Sprintf("- Resource '%s' is already associated with a %s", resource.Describe(live),
		d.owners[owner])
}

// otherOwner returns the label value of the other app that a live object belongs to; empty if this
// app may adopt it.
func (d *Deployment) otherOwner(input, live liveObject) string {
	key, value, _ := d.app.Label() // loadInputs has returned its error
	owner, labelled := live.GetLabels()[key]
	_, exists := input.GetAnnotations()[resource.AnnExists]
	_, noop := input.GetAnnotations()[resource.AnnNoop]
	if !labelled || owner == value || exists || noop || d.req.OverrideOwnership {
		return ""
	}
	return owner
}

// describeOwner returns the description of the app with a label value.
func (d *Deployment) describeOwner(ctx context.Context, value string) string {
	key, _, _ := d.app.Label()
	label := fmt.Sprintf("label '%s=%s'", key, value)
	apps, err := d.Records.List(ctx, d.req.App.Namespace, nil)
	if err == nil {
		for _, other := range apps {
			if other.Meta.LabelKey == key && other.Meta.LabelValue == value {
				return fmt.Sprintf("different %s (%s)", other, label)
			}
		}
	}
	return "different " + label
}
