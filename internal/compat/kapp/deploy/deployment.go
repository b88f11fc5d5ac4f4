package deploy

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Deployment is a prepared deployment of an app: what its changes are made from, and the changes.
type Deployment struct {
	*app.Set
	kapp    *Client
	req     DeployRequest
	adopted map[liveObject]bool // live objects that lack the label of the app
	pods    map[types.UID]bool  // that exist before the run
	owners  map[string]*app.App // other apps, by label values; nil for those without a record
	run     *Run
	trimmed int // how many change records the run deleted

	nameOwners func([]owner.Owner, string) []owner.Owner // see Client.nameOwners
}

// calculateDeployment returns a deployment with its changes, and without a plan.
func (c *Client) calculateDeployment(ctx context.Context, r DeployRequest) (*Deployment, error) {
	set, err := c.OpenSet(ctx, r.set())
	if err != nil {
		return nil, err
	}
	d := &Deployment{Set: set, kapp: c, req: r, nameOwners: c.nameOwners(ctx)}
	return d, d.calculate(ctx)
}

// readFiles returns the resources of the files.
func (d *Deployment) readFiles(ctx context.Context) ([]resource.Resource, error) {
	if len(d.req.Input.Files) == 0 {
		return nil, errors.New("Expected at least one --file (-f) specified with a file or directory " +
			"path")
	}
	return input.Load(ctx, d.req.Input)
}

// calculate reads inputs and live objects, and calculates the changes between them.
func (d *Deployment) calculate(ctx context.Context) error {
	files, err := d.readFiles(ctx)
	if err != nil {
		return err
	}
	if err := d.Describe(ctx, files); err != nil {
		return err
	}
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return err
	}
	existing, err := d.readLive(ctx)
	if err != nil {
		return err
	}
	if len(d.Selected()) == 0 && !d.req.Patch && !d.req.AllowEmpty {
		return errors.New(
			"Trying to apply empty set of resources will result in deletion of resources on " +
				"cluster. " +
				"Refusing to continue unless --dangerous-allow-empty-list-of-resources is " +
				"specified.",
		)
	}
	d.run = &Run{
		Client: d.kapp, options: d.req.Run, review: d.req.Review, config: d.Config(), app: d.App(),
		adopted: d.adopted, checkOwner: d.checkOwner, patch: d.req.Patch,
		others: excluding(existing, matching), described: object.NewSet(),
	}
	for _, desired := range d.Desired() {
		d.run.described.Insert(object.RefOf(desired.Object))
	}
	return d.run.calculate(Filter(existing, matching), app.Unwrap(d.Selected()))
}

// checkWrites makes the checks before the first write that a preview of the changes does not need.
func (d *Deployment) checkWrites(ctx context.Context) error {
	if err := d.run.checkLosses(); err != nil {
		return err
	}
	if err := d.run.checkOtherRecords(ctx); err != nil {
		return err
	}
	return d.preflight(ctx, d.run.changes)
}

// saveMetadata hands the content of the record to the caller.
func (d *Deployment) saveMetadata() error {
	if d.req.SaveMetadata == nil {
		return nil
	}
	return d.req.SaveMetadata(d.App().Meta.JSON())
}

// execute makes the changes. The record covers all objects that may exist because of them, from
// before the first write; after the last one it says how they ended. Unrecorded is the error of the
// record in the run, after that of what follows.
func (d *Deployment) execute(
	ctx context.Context, o engine.Options, start output,
) (summary event.Summary, unrecorded, after error) {
	if err := d.Commit(ctx); err != nil {
		return summary, beforeRun(err), nil
	}
	records := d.runRecord()
	stop := d.followLogs(ctx)
	summary, unrecorded = d.run.apply(ctx, records, o, start)
	stop()
	if records.begun {
		defer func() { d.trimmed = d.Trim(ctx) }()
	}
	if lost, err := d.ResolveLost(ctx, unrecorded); lost {
		return summary, nil, err
	}
	if err := d.saveMetadata(); !summary.Interrupted && summary.Failures() == 0 {
		after = err // else the failure of the run matters more
	}
	return summary, unrecorded, after
}

// runRecord returns the record of the app for a run.
func (d *Deployment) runRecord() *runRecord {
	records := &runRecord{}
	records.begin = func(ctx context.Context) error { return d.Begin(ctx, d.describe()) }
	records.finish = func(ctx context.Context, state *record.State) error {
		succeeded := state.Result == record.RunSucceeded
		switch {
		case records.begun:
			return d.End(ctx, succeeded, d.remaining(state))
		case succeeded: // nothing was written
			return d.recordUnchanged(ctx)
		}
		return nil
	}
	return records
}

// recordUnchanged records a deployment that had nothing to do. One that did not see all of the app,
// or did not check that it is ready, records nothing.
func (d *Deployment) recordUnchanged(ctx context.Context) error {
	saw := len(d.Selected()) == len(d.Desired()) && !d.run.excluded && !d.req.Patch && d.req.Run.Wait
	if !saw {
		return nil
	}
	return d.Prove(ctx, d.describe())
}

// describe returns the description of the changes for their record.
func (d *Deployment) describe() string {
	if !d.req.Summarize {
		return app.Counts{}.Description()
	}
	return change.Count(d.run.changes).Description()
}

// remaining returns the objects of the app that still exist after all changes, by the state that
// the run ended with. It has objects whose deletion nothing waited for, while they exist.
func (d *Deployment) remaining(after *record.State) []liveObject {
	left := object.NewSet(after.Refs()...)
	gone := map[types.UID]bool{}
	for _, c := range d.run.changes {
		if c.ApplyOp() == change.Delete && c.WaitOp() == change.AwaitDelete &&
			!left.Has(object.RefOf(c.Existing)) {
			gone[c.Existing.GetUID()] = true
		}
	}
	return slices.DeleteFunc(app.WithoutTransient(d.Live()), func(obj liveObject) bool {
		return gone[obj.GetUID()]
	})
}

// checkStrategies returns an error if the strategy of a change is unknown.
func (d *Deployment) checkStrategies() error {
	for _, c := range d.run.changes {
		if _, err := c.Strategy(); err != nil {
			return err
		}
	}
	return nil
}
