package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// ChangesRequest asks for the recorded changes of an app.
type ChangesRequest struct {
	App           app.Name
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
	App   app.Name
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
type RenameRequest struct{ App, To app.Name }

// Rename renames the record of an app once the user has confirmed it. Its objects and the records
// of its changes do not change.
func (c *Client) Rename(ctx context.Context, r RenameRequest) error {
	agreed := (*app.App)(nil)
	if c.asksFirst() {
		var err error
		if agreed, err = c.proposeRename(ctx, r); err != nil {
			return err
		}
	}
	names := []app.Name{r.App, r.target()}
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
		return c.Move(ctx, target, r.target(), false)
	})
}

// target returns the complete new name.
func (r RenameRequest) target() app.Name {
	return app.Name{
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
