package apps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
)

// DeployRequest asks to deploy an app.
type DeployRequest struct {
	App      Name
	PrevName string            // the name that the app may have had before; empty for none
	Group    string            // the group that the app belongs to; empty for none
	Labels   map[string]string // of the record

	Input       input.Options
	Preparation input.Preparation // without Namespace, Kinds and Now
	Filter      filter.Flags      // of inputs and live objects
	Patch       bool              // delete nothing
	AllowEmpty  bool              // an app without inputs loses all of its objects
	MaxPrune    plan.PruneLimit   // of the objects of the app

	Search            SearchOptions
	AllKinds          bool // search all kinds, and not only those that the app is known to have
	Adopt             bool // adopt live objects without the label of the app
	OverrideOwnership bool // adopt objects of other apps
	ScopeSelectors    bool // add the label of the app to selectors

	Run          RunOptions
	Review       Review
	Checks       []string                // preflight checks, instead of those of the configuration
	Summarize    bool                    // the change record has the summary of the changes
	KeepChanges  int                     // how many change records stay
	Logs         LogPrinter              // of pods during the run; nil for none
	AllLogs      bool                    // of all pods, annotated or not
	AlwaysWatch  bool                    // watch pods although no object asks for logs
	SaveMetadata func(json string) error // receives the content of the record; nil for none
}

// DeployResult is the outcome of a deployment.
type DeployResult struct {
	Changes int // how many changes there were to make
}

// deployment is a run of Deploy.
type deployment struct {
	*Client
	req      DeployRequest
	record   app.Request
	app      *app.App
	config   *config.Config
	inputs   []resource.Resource
	selected []resource.Resource // the inputs that the filter selects
	live     liveState
	owners   map[string]string // descriptions of other apps, by the values of their labels

	preparation input.Preparation
	fallback    []string                       // namespaces to search
	ignorable   func(schema.GroupVersion) bool // group versions that may fail
}

// liveState is the part of the cluster that concerns an app.
type liveState struct {
	objects    []liveObject
	adopted    map[liveObject]bool // those that lack the label of the app
	missed     map[schema.GroupKind]cluster.UnlistedKind
	unlistable unlistable
	pods       map[types.UID]bool // that exist before the run
}

// Deploy makes the objects of an app in the cluster the same as its inputs, while the app is
// locked.
func (c *Client) Deploy(
	ctx context.Context, r DeployRequest,
) (result DeployResult, err error) {
	if r.Review.isPreview() {
		return c.deploy(ctx, r)
	}
	names := []Name{r.App, {Name: r.PrevName, Namespace: r.App.Namespace}}
	err = c.locked(ctx, "deploy", names, func(ctx context.Context, c *Client) (err error) {
		result, err = c.deploy(ctx, r)
		return err
	})
	return result, err
}

// deploy deploys an app that is locked, or only shows what would change.
func (c *Client) deploy(ctx context.Context, r DeployRequest) (DeployResult, error) {
	d := &deployment{Client: c, req: r}
	if err := d.open(ctx); err != nil {
		return DeployResult{}, err
	}
	run, err := d.calculate(ctx)
	if err != nil {
		return DeployResult{}, err
	}
	result := DeployResult{Changes: len(run.changes)}
	if err := r.Review.Print(run); err != nil {
		return result, err
	}
	if err := d.preparation.CheckNamespaces(d.selected); err != nil {
		return result, err
	}
	if r.Review.Serve != nil {
		return result, r.Review.Serve(ctx, run)
	}
	if err := d.checkPruned(run); err != nil {
		return result, err
	}
	if r.Review.DryRun {
		return result, d.saveMetadata()
	}
	if result.Changes == 0 {
		if err := d.app.Commit(ctx, d.record); err != nil {
			return result, err
		}
		if err := d.recordUnchanged(ctx, run); err != nil {
			return result, err
		}
		return result, d.saveMetadata()
	}
	if err := run.checkOtherRecords(ctx); err != nil {
		return result, err
	}
	if err := d.preflight(ctx, run.changes); err != nil {
		return result, err
	}
	if err := c.Confirm(ctx); err != nil {
		return result, err
	}
	return result, d.execute(ctx, run)
}

// open finds the app. A new app gets its record just before the first object is written.
func (d *deployment) open(ctx context.Context) (err error) {
	d.record = app.Request{
		Name: d.req.App.Name, Namespace: d.req.App.Namespace, PreviousName: d.req.PrevName,
		Labels: d.req.Labels, Group: d.req.Group, DryRun: true,
	}
	d.app, err = d.Records.Ensure(ctx, d.record)
	return err
}

// calculate reads inputs and live objects, and returns the changes between them.
func (d *deployment) calculate(ctx context.Context) (*Run, error) {
	if err := d.loadInputs(ctx); err != nil {
		return nil, err
	}
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return nil, err
	}
	d.selected = slices.DeleteFunc(slices.Clone(d.inputs), func(r resource.Resource) bool {
		return !matching.Matches(r.Unstructured)
	})
	existing, err := d.readLive(ctx)
	if err != nil {
		return nil, err
	}
	if len(d.selected) == 0 && !d.req.Patch && !d.req.AllowEmpty {
		return nil, errors.New(
			"Trying to apply empty set of resources will result in deletion of resources on " +
				"cluster. " +
				"Refusing to continue unless --dangerous-allow-empty-list-of-resources is " +
				"specified.",
		)
	}
	run := &Run{
		Client: d.Client, options: d.req.Run, review: d.req.Review, config: d.config, app: d.app,
		adopted: d.live.adopted, checkOwner: d.checkOwner, patch: d.req.Patch,
	}
	return run, run.calculate(Filter(existing, matching), unwrap(d.selected))
}

// saveMetadata hands the content of the record to the caller.
func (d *deployment) saveMetadata() error {
	if d.req.SaveMetadata == nil {
		return nil
	}
	return d.req.SaveMetadata(d.app.Meta.JSON())
}

// execute makes the changes. The record covers all objects that may exist because of them, from
// before the first write; after the last one it says how they ended.
func (d *deployment) execute(ctx context.Context, run *Run) error {
	if err := run.buildPlan(ctx); err != nil {
		return err
	}
	if err := d.app.Commit(ctx, d.record); err != nil {
		return err
	}
	before := withoutTransient(d.live.objects)
	unlisted := d.live.unlistable.within(d.app.Meta.LastDeployment.Namespaces)
	namespaces := append(namespacesOf(d.inputs, before), unlisted...)
	records := &runRecord{
		begin: func(ctx context.Context) error {
			d.app.AddKinds(usedKinds(d.inputs, before))
			return d.app.Begin(ctx, d.describe(run), namespaces, d.req.KeepChanges > 0)
		},
		finish: func(ctx context.Context, succeeded bool) error {
			if succeeded {
				remaining := d.remaining(run)
				versions, kinds := usedKinds(d.inputs, remaining)
				d.app.SetKinds(versions, kinds, slices.Collect(maps.Keys(d.live.missed)))
				namespaces = append(namespacesOf(d.inputs, remaining), unlisted...)
			}
			return d.app.Finish(ctx, succeeded, namespaces)
		},
	}
	stop := d.followLogs(ctx)
	defer d.trim(ctx)
	failed, unrecorded := run.execute(ctx, records)
	stop()
	if !records.begun {
		return failed
	}
	closing, cancel := context.WithTimeout(cluster.Finish(ctx, 0), closingTime)
	defer cancel()
	if lost := (*app.RecordDeletedError)(nil); errors.As(unrecorded, &lost) {
		return d.resolveLostRecord(closing, failed, lost, namespaces)
	}
	if failed != nil {
		_ = d.saveMetadata() // the failure of the run matters more
		return failed
	}
	if unrecorded != nil {
		d.Printer.Info(unrecorded.Error(), "App")
	}
	return d.saveMetadata()
}

// recordUnchanged records a deployment that had nothing to do, if the last one did not succeed or
// was killed: all of the app is in place now. A deployment that did not see all of it, or did not
// check that it is ready, records nothing.
func (d *deployment) recordUnchanged(ctx context.Context, run *Run) error {
	last := d.app.Meta.LastDeployment
	succeeded := last.Successful != nil && *last.Successful
	saw := len(d.selected) == len(d.inputs) && !run.excluded && !d.req.Patch && d.req.Run.Wait
	if last.StartedAt.IsZero() || succeeded || !saw {
		return nil
	}
	if err := d.app.CloseLast(ctx); err != nil {
		return err
	}
	unlisted := d.live.unlistable.within(last.Namespaces)
	namespaces := append(namespacesOf(d.inputs, withoutTransient(d.live.objects)), unlisted...)
	if err := d.app.Begin(ctx, d.describe(run), namespaces, d.req.KeepChanges > 0); err != nil {
		return err
	}
	return d.app.Finish(ctx, true, namespaces)
}

// describe returns the description of the changes for their record.
func (d *deployment) describe(run *Run) string {
	var changes []*change.Change
	if d.req.Summarize {
		changes = run.changes
	}
	op, wait := change.Summary(changes)
	return "update: Op: " + op + " / Wait to: " + wait
}

// remaining returns the objects of the app that still exist after all changes.
func (d *deployment) remaining(run *Run) []liveObject {
	gone := map[types.UID]bool{}
	for _, c := range run.changes {
		if c.ApplyOp() == change.Delete && c.WaitOp() == change.AwaitDelete {
			gone[c.Existing.GetUID()] = true
		}
	}
	return slices.DeleteFunc(withoutTransient(d.live.objects), func(obj liveObject) bool {
		return gone[obj.GetUID()]
	})
}

// closingTime limits the last writes of a run that was interrupted.
const closingTime = 30 * time.Second

// trim deletes the oldest change records.
func (d *deployment) trim(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	deleted, _, err := d.app.TrimRecords(ctx, d.req.KeepChanges)
	if err == nil {
		d.printTrimmed(deleted)
	}
}

// printTrimmed prints how many change records were deleted, if any.
func (c *Client) printTrimmed(deleted int) {
	if deleted > 0 {
		c.Printer.Line(fmt.Sprintf("Deleted %d older app changes", deleted))
	}
}
