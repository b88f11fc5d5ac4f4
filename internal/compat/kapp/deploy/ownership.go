package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// checkOwner returns an error for a live object that belongs to another app.
func (d *Deployment) checkOwner(ctx context.Context, input, live liveObject) error {
	if line := d.ownershipConflict(ctx, input, live); line != "" {
		return ownershipError([]string{line})
	}
	return nil
}

// ownershipError returns the error for resources that belong to others; nil for none.
func ownershipError(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	return errors.New("Ownership errors:\n" + strings.Join(lines, "\n"))
}

// ownershipConflict returns the line for a live object that belongs to another app; empty for one
// that this app may adopt. It passes a note about owners that are no apps to Notice.
func (d *Deployment) ownershipConflict(ctx context.Context, input, live liveObject) string {
	if label := d.otherOwner(input, live); label != "" {
		if other := d.ownerOf(ctx, label); !d.mayAdoptFrom(other) {
			return fmt.Sprintf("- Resource '%s' is already associated with a %s",
				resource.Describe(live), d.describeOwner(other, label))
		}
	}
	if others := d.othersOf(input, live); len(others) > 0 && d.kapp.Notice != nil {
		d.kapp.Notice(fmt.Sprintf("Resource '%s' belongs to %s; this takes it over",
			resource.Describe(live), owner.Text(d.nameOwners(others, live.GetNamespace()))))
	}
	return ""
}

// othersOf returns the owners of a live object that are no apps. Input is what the app applies.
func (d *Deployment) othersOf(input, live liveObject) []owner.Owner {
	if app.IsExternal(input) {
		return nil
	}
	return app.OthersOf(d.App(), input, live)
}

// nameOwners returns a function that finds the names of the owners of an object in a namespace. It
// lists the records of packages once, if it needs the name of one.
func (c *Client) nameOwners(ctx context.Context) func([]owner.Owner, string) []owner.Owner {
	names := &owner.Names{Cluster: c.Cluster}
	return func(owners []owner.Owner, namespace string) []owner.Owner {
		return names.FindAll(ctx, owners, namespace, c.Namespace)
	}
}

// otherOwner returns the label value of the other app that a live object belongs to; empty for
// none, and if the input only describes the object.
func (d *Deployment) otherOwner(input, live liveObject) string {
	key, value, _ := d.App().Label() // Describe has returned its error
	owner, labelled := object.LabelsOf(live).Lookup(key)
	if !labelled || owner == value || app.IsExternal(input) {
		return ""
	}
	return owner
}

// mayAdoptFrom reports whether the app may adopt objects of another app; other is nil for one
// without a record in the namespace of this app.
func (d *Deployment) mayAdoptFrom(other *app.App) bool {
	if len(d.req.AdoptFrom) == 0 {
		return d.req.OverrideOwnership
	}
	return other != nil && slices.Contains(d.req.AdoptFrom, other.Name)
}

// ownerOf returns the app with a label value, of those in the namespace of this app; nil if there
// is none, or if they cannot be listed.
func (d *Deployment) ownerOf(ctx context.Context, value string) *app.App {
	if other, known := d.owners[value]; known {
		return other
	}
	if d.owners == nil {
		d.owners = map[string]*app.App{}
	}
	d.owners[value] = nil
	key, _, _ := d.App().Label()
	found, err := d.Records.List(ctx, d.req.App.Namespace, nil)
	if err != nil {
		return nil
	}
	for _, other := range found {
		if other.Meta.LabelKey == key && other.Meta.LabelValue == value {
			d.owners[value] = other
			break
		}
	}
	return d.owners[value]
}

// describeOwner returns the description of the app with a label value; other is nil if only the
// value is known.
func (d *Deployment) describeOwner(other *app.App, value string) string {
	key, _, _ := d.App().Label()
	label := fmt.Sprintf("label '%s=%s'", key, value)
	if other == nil {
		return "different " + label
	}
	return fmt.Sprintf("different %s (%s)", other, label)
}
