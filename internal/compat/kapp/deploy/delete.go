package deploy

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// DeleteRequest asks to delete an app.
type DeleteRequest struct {
	App              app.Name
	PrevName         string       // the name that the app may have had before; empty for none
	Filter           filter.Flags // of live objects; an app that keeps some of them stays
	Search           app.SearchOptions
	Run              RunOptions
	Review           Review
	ForgetUnlistable bool // delete the record although objects may be left that the user may not list
}

// DeleteResult is the outcome of a deletion.
type DeleteResult struct {
	Found   bool // the app exists
	Changes int  // how many changes there were to make
}

// Delete deletes the objects of an app, and its record if no object is left, while the app is
// locked. If the user is asked, that comes before, as in Deploy.
func (c *Client) Delete(
	ctx context.Context, r DeleteRequest,
) (result DeleteResult, err error) {
	if r.Review.isPreview() {
		_, result, err = c.proposeDeletion(ctx, r)
		return result, err
	}
	var agreed *Deletion
	if c.asksFirst() {
		if agreed, result, err = c.proposeDeletion(ctx, r); err != nil || !result.Found {
			return result, err
		}
	}
	names := []app.Name{r.App, {Name: r.PrevName, Namespace: r.App.Namespace}}
	err = c.locked(ctx, "delete", names, func(ctx context.Context, c *Client) (err error) {
		d := agreed
		if agreed == nil {
			d, result, err = c.proposeDeletion(ctx, r)
		} else {
			err = c.checkAgreed(ctx, agreed.App())
		}
		if err != nil || !result.Found {
			return err
		}
		return c.runDeletion(ctx, d)
	})
	return result, err
}

// proposeDeletion calculates and prints the changes, and asks whether they are made. Then the
// deletion of an app that was found has a plan. A preview is complete.
func (c *Client) proposeDeletion(
	ctx context.Context, r DeleteRequest,
) (*Deletion, DeleteResult, error) {
	opened, err := c.OpenDeletion(ctx, app.DeletionRequest{
		App: r.App, PrevName: r.PrevName, Search: r.Search, Owners: r.Review.Fields,
		ForgetUnlistable: r.ForgetUnlistable,
	})
	if err != nil {
		return nil, DeleteResult{}, err
	}
	d := &Deletion{Deletion: opened, kapp: c, req: r}
	for _, text := range d.NotFound() {
		c.Printer.Line(text)
	}
	if !d.Found() {
		return nil, DeleteResult{}, nil
	}
	result := DeleteResult{Found: true}
	if err := d.calculate(ctx); err != nil {
		return nil, result, err
	}
	if err := r.Review.Print(d.run); err != nil {
		return nil, result, err
	}
	result.Changes = len(d.run.changes)
	if d.partial {
		c.Printer.Line(fmt.Sprintf("App '%s' (namespace: %s) will not be fully deleted because some "+
			"resources are excluded by filters", d.App().Name, c.Namespace))
	}
	switch {
	case r.Review.Serve != nil:
		return nil, result, r.Review.Serve(ctx, d.run)
	case r.Review.DryRun:
		return nil, result, nil
	}
	if err := d.checkWrites(ctx); err != nil {
		return nil, result, err
	}
	if err := c.confirm(ctx); err != nil {
		return nil, result, err
	}
	return d, result, d.run.buildPlan()
}

// runDeletion makes the changes of an app that is locked.
func (c *Client) runDeletion(ctx context.Context, d *Deletion) error {
	failed, unrecorded, after := d.run.print(ctx, d.execute)
	if unrecorded != nil {
		c.Printer.Info(unrecorded.Error(), "App")
	}
	c.printTrimmed(d.trimmed)
	if failed == nil {
		failed = after
	}
	return failed
}
