package apps

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/apps/filter"
)

// DeleteRequest asks to delete an app.
type DeleteRequest struct {
	App              Name
	PrevName         string       // the name that the app may have had before; empty for none
	Filter           filter.Flags // of live objects; an app that keeps some of them stays
	Search           SearchOptions
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
// locked.
func (c *Client) Delete(
	ctx context.Context, r DeleteRequest,
) (result DeleteResult, err error) {
	if r.Review.isPreview() {
		return c.delete(ctx, r)
	}
	names := []Name{r.App, {Name: r.PrevName, Namespace: r.App.Namespace}}
	err = c.locked(ctx, "delete", names, func(ctx context.Context, c *Client) (err error) {
		result, err = c.delete(ctx, r)
		return err
	})
	return result, err
}

// delete deletes an app that is locked, or only shows what would be deleted.
func (c *Client) delete(ctx context.Context, r DeleteRequest) (DeleteResult, error) {
	d, err := c.openDeletion(ctx, r)
	if err != nil {
		return DeleteResult{}, err
	}
	for _, text := range d.notFound {
		c.Printer.Line(text)
	}
	if !d.Found() {
		return DeleteResult{}, nil
	}
	result := DeleteResult{Found: true}
	if err := d.calculate(ctx); err != nil {
		return result, err
	}
	if err := r.Review.Print(d.run); err != nil {
		return result, err
	}
	result.Changes = len(d.run.changes)
	if d.partial {
		c.Printer.Line(fmt.Sprintf("App '%s' (namespace: %s) will not be fully deleted because some "+
			"resources are excluded by filters", d.app.Name, c.Namespace))
	}
	switch {
	case r.Review.Serve != nil:
		return result, r.Review.Serve(ctx, d.run)
	case r.Review.DryRun:
		return result, nil
	}
	if err := d.checkWrites(ctx); err != nil {
		return result, err
	}
	if err := c.Confirm(ctx); err != nil {
		return result, err
	}
	if err := d.run.buildPlan(); err != nil {
		return result, err
	}
	failed, unrecorded, after := d.run.print(ctx, d.execute)
	if unrecorded != nil {
		c.Printer.Info(unrecorded.Error(), "App")
	}
	c.printTrimmed(d.trimmed)
	if failed == nil {
		failed = after
	}
	return result, failed
}
