package deploy

import (
	"context"
	"errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// Deletion is a prepared deletion of an app: what its changes are made from, and the changes.
type Deletion struct {
	*app.Deletion
	kapp    *Client
	req     DeleteRequest
	partial bool // some objects stay, and with them the record
	run     *Run
	trimmed int // how many change records the run deleted
}

// calculate reads the live objects, and calculates the changes that delete them.
func (d *Deletion) calculate(ctx context.Context) error {
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return err
	}
	filtered := matching != nil || d.req.Run.ChangeFilter != ""
	if d.App().Selector() == "" && !filtered {
		return errors.New(
			"Expected label selector to be non-empty: it selects whatever was deployed to the " +
				"cluster " +
				"(hint: a filter, as --filter-ns, says what of it is meant)",
		)
	}
	if err := d.ReadLive(ctx); err != nil {
		return err
	}
	some := Filter(d.Live(), matching)
	d.run = &Run{
		Client: d.kapp, options: d.req.Run, review: d.req.Review, config: config.Default(), app: d.App(),
		deletes: true, others: excluding(d.Live(), matching),
	}
	if err := d.run.calculate(some, nil); err != nil {
		return err
	}
	d.partial = len(some) != len(d.Live()) || d.run.excluded || filtered && d.Unlistable() != nil
	return nil
}

// checkWrites makes the checks before the first write that a preview of the changes does not need.
func (d *Deletion) checkWrites(ctx context.Context) error {
	if err := d.Unlistable(); err != nil && !d.partial {
		return err
	}
	if err := d.run.checkLosses(); err != nil {
		return err
	}
	return d.run.checkOtherRecords(ctx)
}

// execute deletes the objects and the record. The record of a failed or partial deletion keeps the
// namespaces of the app, so that a user who may not list all namespaces finds its objects.
// Unrecorded is the error of the record in the run, after the reason why the record is kept, or the
// error of what follows.
func (d *Deletion) execute(
	ctx context.Context, o engine.Options, start output,
) (summary event.Summary, unrecorded, after error) {
	namespaces := d.Namespaces()
	records := &runRecord{}
	records.begin = func(ctx context.Context) error {
		return d.App().Begin(ctx, "delete", namespaces, false)
	}
	records.finish = func(closing context.Context, state *record.State) error {
		if err := cluster.PermitAtEnd(ctx, closing); err != nil {
			return err // a run that has the lock now has taken the record over, too
		}
		succeeded := state.Result == record.RunSucceeded
		if succeeded && !d.partial {
			deleted := false
			if deleted, after = d.DeleteRecord(closing, nil); deleted {
				return nil
			}
		}
		if !records.begun {
			return nil
		}
		return d.App().Finish(closing, succeeded && after == nil, namespaces)
	}
	summary, unrecorded = d.run.apply(ctx, records, o, start)
	if !d.App().Exists() || !records.begun {
		return summary, unrecorded, after
	}
	keep := app.FewChanges
	if d.partial {
		keep = app.ChangesToKeep
	}
	closing, cancel := app.Closing(ctx)
	defer cancel()
	deleted, _, err := d.App().TrimRecords(closing, keep)
	d.trimmed = deleted
	if after == nil {
		after = err
	}
	return summary, unrecorded, after
}
