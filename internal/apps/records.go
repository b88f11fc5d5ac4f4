package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// ChangesRequest asks for the recorded changes of an app.
type ChangesRequest struct {
	App           Name
	After, Before time.Time // bounds of the start, exclusive; zero for none
}

// Changes returns the recorded changes of an app, the oldest first.
func (c *Client) Changes(ctx context.Context, r ChangesRequest) ([]app.RecordedDeployment, error) {
	target, err := c.Existing(ctx, r.App)
	if err != nil {
		return nil, err
	}
	changes, err := target.RecordedDeployments(ctx)
	return slices.DeleteFunc(changes, func(change app.RecordedDeployment) bool {
		return !r.Before.IsZero() && !change.StartedAt.Before(r.Before) ||
			!r.After.IsZero() && !change.StartedAt.After(r.After)
	}), err
}

// TrimRequest asks to delete the oldest change records of an app.
type TrimRequest struct {
	App   Name
	Keep  int                                  // how many records stay
	Print func([]app.RecordedDeployment) error // prints the records that will be deleted
}

// TrimChanges deletes the oldest change records of an app once the user has confirmed it.
func (c *Client) TrimChanges(ctx context.Context, r TrimRequest) error {
	target, err := c.Existing(ctx, r.App)
	if err != nil {
		return err
	}
	changes, err := target.RecordedDeployments(ctx)
	if err != nil {
		return err
	}
	old := app.Oldest(changes, r.Keep)
	if err := r.Print(old); err != nil {
		return err
	}
	if err := c.confirm(ctx); err != nil {
		return err
	}
	if err := target.DeleteRecords(ctx, old); err != nil {
		return err
	}
	c.Printer.Line(fmt.Sprintf("Kept %d, deleted %d app changes", len(changes)-len(old), len(old)))
	return nil
}

// RenameRequest asks for another name or namespace of an app's record. An empty field of To keeps
// the present value.
type RenameRequest struct {
	App, To Name
	Changes bool // the change records go along; kapp leaves them behind
}

// Rename renames the record of an app once the user has confirmed it. Its objects do not change.
func (c *Client) Rename(ctx context.Context, r RenameRequest) error {
	agreed := (*app.App)(nil)
	if c.asksFirst() {
		var err error
		if agreed, err = c.proposeRename(ctx, r); err != nil {
			return err
		}
	}
	names := []Name{r.App, r.target()}
	return c.locked(ctx, "rename", names, func(ctx context.Context, c *Client) error {
		if agreed != nil {
			c = c.quiet()
		}
		target, err := c.proposeRename(ctx, r)
		if err != nil {
			return err
		}
		if agreed != nil && target.Meta.LabelValue != agreed.Meta.LabelValue {
			return errMismatch
		}
		if err := c.checkOwned(ctx, target); err != nil {
			return err
		}
		to := r.target()
		return target.Rename(ctx, to.Name, to.Namespace, r.Changes)
	})
}

// checkOwned returns an *object.OwnedError if an object of an app would be deleted with its record,
// since it has an owner reference to that. Objects that cannot be listed are not looked at.
func (c *Client) checkOwned(ctx context.Context, target *app.App) error {
	found, err := c.objects(ctx, target, SearchOptions{RecordedKinds: true}, false,
		func(cluster.UnlistedKind) {})
	if err != nil {
		return err
	}
	record, holders := target.Holders()
	return object.CheckOwned(record, holders, found...)
}

// target returns the complete new name.
func (r RenameRequest) target() Name {
	return Name{
		Name: cmp.Or(r.To.Name, r.App.Name), Namespace: cmp.Or(r.To.Namespace, r.App.Namespace),
	}
}

// proposeRename returns the app that gets another name, once the user has confirmed it.
func (c *Client) proposeRename(ctx context.Context, r RenameRequest) (*app.App, error) {
	target, err := c.Existing(ctx, r.App)
	if absent := (*app.NotFoundError)(nil); errors.As(err, &absent) {
		return nil, absent.Short()
	}
	if err != nil {
		return nil, err
	}
	if target.IsLabelled() {
		return nil, errors.New("Not supported")
	}
	to := r.target()
	c.Printer.Line(
		fmt.Sprintf(
			"Renaming '%s' (namespace: %s) to '%s' (namespace: %s) (app changes will not be "+
				"renamed)",
			target.Name,
			target.Namespace,
			to.Name,
			to.Namespace,
		),
	)
	return target, c.confirm(ctx)
}

// resolveLostRecord ends a deployment whose record was deleted during the run. It creates the
// record again if objects are left; if there is another app of the name, it names these objects.
func (d *Deployment) resolveLostRecord(
	ctx context.Context, lost *app.RecordDeletedError, namespaces []string,
) error {
	if successor := d.successor(ctx); successor != nil {
		d.Printer.Info(
			fmt.Sprintf("the app was given another record meanwhile, which has all of it: %s",
				successor),
			"App",
		)
		return nil
	}
	left, unseen, err := d.leftovers(ctx)
	gone := &LostRecordError{app: d.app, Selector: d.app.Selector()}
	if err == nil && len(left) == 0 && !unseen && !d.live.unlistable.any() {
		return gone
	}
	if err != nil {
		left = append(left, "what could not be looked for: "+err.Error())
	}
	if len(left) == 0 {
		left = []string{"what cannot be listed"}
	}
	gone.Left, gone.cause = left, lost
	if !lost.Recreated {
		gone.cause = d.app.Restore(ctx, namespaces)
	}
	gone.Restored = gone.cause == nil
	return gone
}

// successor returns the app that has the label of the deployed one, as after a rename; nil if it
// finds none.
func (d *Deployment) successor(ctx context.Context) *app.App {
	apps, err := d.Records.List(ctx, "", nil)
	if err != nil {
		apps, _ = d.Records.List(ctx, d.app.Namespace,
			nil) // an app that cannot be found counts as deleted
	}
	for _, other := range apps {
		if other.Meta.LabelValue == d.app.Meta.LabelValue &&
			other.Meta.LabelKey == d.app.Meta.LabelKey {
			return other
		}
	}
	return nil
}

// leftovers returns the names of the app's objects that exist now, and whether there may be more:
// of a kind that cannot be listed.
func (d *Deployment) leftovers(ctx context.Context) (left []string, unseen bool, err error) {
	_, kinds := usedKinds(d.inputs, d.live.objects)
	s := d.selection(d.app, d.req.Search, false)
	s.Fallback, s.Ignore, s.Kinds = d.fallback, d.ignorable, uniqueKinds(kinds)
	s.Unlisted = func(m cluster.UnlistedKind) { unseen = unseen || m.Cause != nil || m.Forbidden }
	found, err := d.selectObjects(ctx, s)
	return describeAll(withoutTransient(found)), unseen, err
}

// describeAll returns the names of objects.
func describeAll(objects []liveObject) []string {
	var names []string
	for _, obj := range objects {
		names = append(names, resource.Describe(obj))
	}
	return names
}
