package apps

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/record"
)

// Deployment is a prepared deployment of an app: what its plan is made from, and the plan.
type Deployment struct {
	*Client
	req      DeployRequest
	record   app.Request
	app      *app.App
	config   *config.Config
	inputs   []resource.Resource
	selected []resource.Resource // the inputs that the filter selects
	live     liveState
	desired  []any               // the content of the inputs, before versions get their names
	owners   map[string]*app.App // other apps, by label values; nil for those without a record
	run      *Run
	trimmed  int // how many change records the run deleted

	nameOwners func([]owner.Owner, string) []owner.Owner // see Client.nameOwners

	preparation input.Preparation
	fallback    []string                       // namespaces to search
	ignorable   func(schema.GroupVersion) bool // group versions that may fail
}

// liveState is the part of the cluster that concerns an app.
type liveState struct {
	objects    []liveObject
	adopted    map[liveObject]bool // those that lack the label of the app
	missed     unlistedKinds
	unlistable unlistable
	pods       map[types.UID]bool // that exist before the run
}

// App returns the app. A new one has no record before the run.
func (d *Deployment) App() *app.App { return d.app }

// Identity returns the namespace, name and label of the app, by which a saved plan knows it.
// The label of a new app is in Random instead.
func (d *Deployment) Identity() string { return identity(d.app) }

// Random returns the texts that differ each time that the deployment is prepared: the nonce, and
// the label of a new app.
func (d *Deployment) Random() []string {
	texts := []string{resource.Nonce(d.preparation.Now)}
	if d.app.IsNew {
		texts = append(texts, d.app.Meta.LabelValue)
	}
	return texts
}

// Objects returns the content of the inputs, with the label of the app.
func (d *Deployment) Objects() []any { return d.desired }

// identity returns the namespace, the name and the label of an app.
func identity(a *app.App) string {
	if a.IsNew || a.IsLabelled() {
		return a.Namespace + "/" + a.Name
	}
	return a.Namespace + "/" + a.Name + " " + a.Selector()
}

// calculateDeployment returns a deployment with its changes, and without a plan.
func (c *Client) calculateDeployment(ctx context.Context, r DeployRequest) (*Deployment, error) {
	d := &Deployment{Client: c, req: r, nameOwners: c.nameOwners(ctx)}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	return d, d.calculate(ctx)
}

// open finds the app. A new app gets its record just before the first object is written.
func (d *Deployment) open(ctx context.Context) (err error) {
	d.record = app.Request{
		Name: d.req.App.Name, Namespace: d.req.App.Namespace, PreviousName: d.req.PrevName,
		Labels: d.req.Labels, Group: d.req.Group, DryRun: true,
		LabelValue: d.req.LabelValue, ObjectLabels: d.req.ObjectLabels,
	}
	d.app, err = d.Records.Ensure(ctx, d.record)
	return err
}

// calculate reads inputs and live objects, and calculates the changes between them.
func (d *Deployment) calculate(ctx context.Context) error {
	if err := d.loadInputs(ctx); err != nil {
		return err
	}
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return err
	}
	d.selected = slices.DeleteFunc(slices.Clone(d.inputs), func(r resource.Resource) bool {
		return !matching.Matches(r.Unstructured)
	})
	existing, err := d.readLive(ctx)
	if err != nil {
		return err
	}
	if len(d.selected) == 0 && !d.req.Patch && !d.req.AllowEmpty {
		return errors.New(
			"Trying to apply empty set of resources will result in deletion of resources on " +
				"cluster. " +
				"Refusing to continue unless --dangerous-allow-empty-list-of-resources is " +
				"specified.",
		)
	}
	d.run = &Run{
		Client: d.Client, options: d.req.Run, review: d.req.Review, config: d.config, app: d.app,
		adopted: d.live.adopted, checkOwner: d.checkOwner, patch: d.req.Patch,
		others: excluding(existing, matching), described: object.NewSet(),
	}
	for _, r := range d.inputs {
		d.run.described.Insert(object.RefOf(r.Unstructured))
	}
	return d.run.calculate(Filter(existing, matching), unwrap(d.selected))
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
	return d.req.SaveMetadata(d.app.Meta.JSON())
}

// execute makes the changes. The record covers all objects that may exist because of them, from
// before the first write; after the last one it says how they ended. Unrecorded is the error of the
// record in the run, after that of what follows.
func (d *Deployment) execute(
	ctx context.Context, o engine.Options, start output,
) (summary event.Summary, unrecorded, after error) {
	if err := d.app.Commit(ctx, d.record); err != nil {
		return summary, beforeRun(err), nil
	}
	records, namespaces := d.runRecord()
	stop := d.followLogs(ctx)
	summary, unrecorded = d.run.apply(ctx, records, o, start)
	stop()
	if records.begun {
		defer d.trim(ctx)
	}
	lost := (*app.RecordDeletedError)(nil)
	if early := isBeforeRun(unrecorded); !early && errors.As(unrecorded, &lost) {
		closing, cancel := context.WithTimeout(closingContext(ctx), closingTime)
		defer cancel()
		return summary, nil, d.resolveLostRecord(closing, lost, *namespaces)
	}
	if err := d.saveMetadata(); !summary.Interrupted && summary.Failures() == 0 {
		after = err // else the failure of the run matters more
	}
	return summary, unrecorded, after
}

// runRecord returns the record of the app for a run, and the namespaces that it has.
func (d *Deployment) runRecord() (records *runRecord, namespaces *[]string) {
	unlisted, before := d.unlistedNamespaces(), withoutTransient(d.live.objects)
	namespaces = new([]string)
	*namespaces = append(namespacesOf(d.inputs, before), unlisted...)
	records = &runRecord{}
	records.begin = func(ctx context.Context) error {
		d.app.AddKinds(usedKinds(d.inputs, before))
		return d.app.Begin(ctx, d.describe(), *namespaces, d.req.KeepChanges > 0)
	}
	records.finish = func(ctx context.Context, state *record.State) error {
		succeeded := state.Result == record.RunSucceeded
		if !records.begun { // nothing was written
			if succeeded {
				return d.recordUnchanged(ctx)
			}
			return nil
		}
		if succeeded {
			remaining := d.remaining(state)
			versions, kinds := usedKinds(d.inputs, remaining)
			d.app.SetKinds(versions, kinds, slices.Collect(maps.Keys(d.live.missed)))
			*namespaces = append(namespacesOf(d.inputs, remaining), unlisted...)
		}
		return d.app.Finish(ctx, succeeded, *namespaces)
	}
	return records, namespaces
}

// unlistedNamespaces returns the recorded namespaces that may hold objects which the user may not
// list.
func (d *Deployment) unlistedNamespaces() []string {
	return d.live.unlistable.within(d.app.Meta.LastDeployment.Namespaces)
}

// lastSucceeded reports whether the last deployment succeeded, or there was none.
func (d *Deployment) lastSucceeded() bool { return lastSucceeded(d.app) }

// lastSucceeded reports whether the last deployment of an app succeeded, or there was none.
func lastSucceeded(of *app.App) bool {
	last := of.Meta.LastDeployment
	return last.StartedAt.IsZero() || last.Successful != nil && *last.Successful
}

// recordUnchanged records a deployment that had nothing to do, if the last one did not succeed or
// was killed: all of the app is in place now. A deployment that did not see all of it, or did not
// check that it is ready, records nothing.
func (d *Deployment) recordUnchanged(ctx context.Context) error {
	saw := len(d.selected) == len(d.inputs) && !d.run.excluded && !d.req.Patch && d.req.Run.Wait
	if !saw || d.lastSucceeded() && !d.app.LostMembers() {
		return nil
	}
	if err := d.app.CloseLast(ctx); err != nil {
		return err
	}
	namespaces := append(namespacesOf(d.inputs, withoutTransient(d.live.objects)),
		d.unlistedNamespaces()...)
	if err := d.app.Begin(ctx, d.describe(), namespaces, d.req.KeepChanges > 0); err != nil {
		return err
	}
	return d.app.Finish(ctx, true, namespaces)
}

// describe returns the description of the changes for their record.
func (d *Deployment) describe() string {
	var changes []*change.Change
	if d.req.Summarize {
		changes = d.run.changes
	}
	op, wait := change.Summary(changes)
	return "update: Op: " + op + " / Wait to: " + wait
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
	return slices.DeleteFunc(withoutTransient(d.live.objects), func(obj liveObject) bool {
		return gone[obj.GetUID()]
	})
}

// closingTime limits the last writes of a run that was interrupted.
const closingTime = 30 * time.Second

// closingContext returns a context for the last writes of a run to its record, also of one that was
// interrupted or has lost its lock.
func closingContext(ctx context.Context) context.Context {
	return cluster.Unguarded(cluster.Finish(ctx, 0))
}

// trim deletes the oldest change records.
func (d *Deployment) trim(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if deleted, _, err := d.app.TrimRecords(ctx, d.req.KeepChanges); err == nil {
		d.trimmed = deleted
	}
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
