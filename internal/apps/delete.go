package apps

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/cluster"
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

// deletion is a run of Delete.
type deletion struct {
	*Client
	req        DeleteRequest
	app        *app.App
	objects    []liveObject // all of the app
	unlistable unlistable
	partial    bool // some objects stay, and with them the record
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
	d := &deletion{Client: c, req: r}
	if err := d.open(ctx); err != nil || d.app == nil {
		return DeleteResult{}, err
	}
	run, err := d.calculate(ctx)
	if err != nil {
		return DeleteResult{Found: true}, err
	}
	result := DeleteResult{Found: true, Changes: len(run.changes)}
	if d.partial {
		c.Printer.Line(
			fmt.Sprintf(
				"App '%s' (namespace: %s) will not be fully deleted because some resources are "+
					"excluded by filters",
				d.app.Name,
				c.Namespace,
			),
		)
	}
	switch {
	case r.Review.Serve != nil:
		return result, r.Review.Serve(ctx, run)
	case r.Review.DryRun:
		return result, nil
	case !d.partial && d.unlistable.any():
		return result, d.unlistable.refuseDelete(d.app)
	}
	if err := run.checkOtherRecords(ctx); err != nil {
		return result, err
	}
	if err := c.Confirm(ctx); err != nil {
		return result, err
	}
	return result, d.execute(ctx, run)
}

// open finds the app, or the app of the previous name. If neither exists, it prints so and leaves
// the app nil.
func (d *deletion) open(ctx context.Context) error {
	target, err := d.Find(ctx, d.req.App)
	if err != nil {
		return err
	}
	if !target.Exists() && d.req.PrevName != "" {
		prev, err := d.Find(ctx, Name{Name: d.req.PrevName, Namespace: d.req.App.Namespace})
		if err != nil {
			return err
		}
		if prev.Exists() {
			d.app = prev
			return nil
		}
		d.Printer.Line(prev.NotFoundText(ctx))
	}
	if !target.Exists() {
		d.Printer.Line(target.NotFoundText(ctx))
		return nil
	}
	d.app = target
	return nil
}

// calculate reads the live objects, and calculates and prints the changes that delete them.
func (d *deletion) calculate(ctx context.Context) (*Run, error) {
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return nil, err
	}
	filtered := matching != nil || d.req.Run.ChangeFilter != ""
	if d.app.Selector() == "" && !filtered {
		return nil, errors.New(
			"Expected label selector to be non-empty: it selects whatever was deployed to the " +
				"cluster " +
				"(hint: a filter, as --filter-ns, says what of it is meant)",
		)
	}
	if err := d.readLive(ctx); err != nil {
		return nil, err
	}
	some := Filter(d.objects, matching)
	run := &Run{
		Client: d.Client, options: d.req.Run, review: d.req.Review, config: config.Default(), app: d.app,
		deletes: true,
	}
	if err := run.calculate(some, nil); err != nil {
		return nil, err
	}
	d.partial = len(some) != len(d.objects) || run.excluded || filtered && d.unlistable.any()
	return run, d.req.Review.Print(run)
}

// readLive reads the objects of the app.
func (d *deletion) readLive(ctx context.Context) error {
	missed := map[schema.GroupKind]cluster.UnlistedKind{}
	add := func(m cluster.UnlistedKind) { missed[m.GroupKind] = m }
	var err error
	d.objects, err = d.Client.objects(ctx, d.app, d.req.Search, d.req.Review.Fields, add)
	if err != nil || d.req.ForgetUnlistable {
		return err
	}
	d.unlistable, err = d.unlistableOf(ctx, d.app, missed)
	return err
}

// fewChanges is how many change records stay of an app that could not be deleted.
const fewChanges = 5

// ChangesToKeep is how many change records of an app stay by default.
const ChangesToKeep = 200

// execute deletes the objects and the record. The record of a failed or partial deletion keeps the
// namespaces of the app, so that a user who may not list all namespaces finds its objects.
func (d *deletion) execute(ctx context.Context, run *Run) error {
	if err := run.buildPlan(ctx); err != nil {
		return err
	}
	namespaces := append(
		namespacesOf(nil, withoutTransient(d.objects)),
		d.app.Meta.LastDeployment.Namespaces...)
	var kept error // why the record was not deleted
	records := &runRecord{begin: func(ctx context.Context) error {
		return d.app.Begin(ctx, "delete", namespaces, false)
	}}
	records.finish = func(ctx context.Context, succeeded bool) error {
		if succeeded && !d.partial {
			if kept = d.deleteRecord(ctx); kept == nil {
				return nil
			}
		}
		if !records.begun {
			return nil
		}
		return d.app.Finish(ctx, succeeded && kept == nil, namespaces)
	}
	failed, unrecorded := run.execute(ctx, records)
	if unrecorded != nil {
		d.Printer.Info(unrecorded.Error(), "App")
	}
	if failed == nil {
		failed = kept
	}
	if !d.app.Exists() || !records.begun {
		return failed
	}
	keep := fewChanges
	if d.partial {
		keep = ChangesToKeep
	}
	closing, cancel := context.WithTimeout(cluster.Finish(ctx, 0), closingTime)
	defer cancel()
	deleted, _, trimmed := d.app.TrimRecords(closing, keep)
	d.printTrimmed(deleted)
	if failed == nil {
		failed = trimmed
	}
	return failed
}

// deleteRecord deletes the record of an app that has no objects left. It searches the kinds of the
// record and of all objects that were found before, whether or not the run waited for them. If the
// record names no kinds, it searches all that exist now.
func (d *deletion) deleteRecord(ctx context.Context) error {
	s := d.selection(d.app, d.req.Search, false)
	if used := d.app.Meta.UsedGKs; used != nil {
		_, found := usedKinds(nil, d.objects)
		s.Kinds = uniqueKinds(append(found, *used...))
	} else if err := d.Cluster.Rediscover(ctx); err != nil {
		return err
	}
	left, err := d.selectObjects(ctx, s)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return errors.New(
			"Expected all resources to be gone, but found: " + strings.Join(describeAll(left),
				", "),
		)
	}
	return d.app.Delete(ctx)
}
