package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// DeletionRequest asks for an app that is to be deleted.
type DeletionRequest struct {
	App              Name
	PrevName         string // the name that the app may have had before; empty for none
	Search           SearchOptions
	Owners           bool // live objects keep their managed fields
	KeepLeaving      bool // the record stays while objects are leaving
	ForgetUnlistable bool // delete the record although objects may be left that the user may not list
}

// Deletion is the deletion of an app as the planner of all sets sees one. It is for one operation,
// and for as long as the app is locked.
type Deletion struct {
	*Client
	req        DeletionRequest
	app        *App     // nil if it does not exist
	notFound   []string // a line for each name that was looked for in vain
	objects    []liveObject
	missed     unlistedKinds
	unlistable unlistable

	plan    *plan.Plan // nil before SetPlan
	begun   bool
	running context.Context // of the run that has begun
}

// OpenDeletion finds the app that is to be deleted, by its name or its previous name. One that does
// not exist has no objects.
func (c *Client) OpenDeletion(ctx context.Context, r DeletionRequest) (*Deletion, error) {
	d := &Deletion{Client: c, req: r}
	names := []Name{r.App}
	if r.PrevName != "" {
		names = append(names, Name{Name: r.PrevName, Namespace: r.App.Namespace})
	}
	var missing []*App
	for _, name := range names {
		found, err := d.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		if found.Exists() {
			d.app = found
			return d, nil
		}
		missing = append(missing, found)
	}
	for _, one := range slices.Backward(missing) { // as kapp does: the previous name first
		d.notFound = append(d.notFound, one.NotFoundText(ctx))
	}
	return d, nil
}

// Found reports whether the app exists.
func (d *Deletion) Found() bool { return d.app != nil }

// NotFound returns a line for each name that was looked for in vain.
func (d *Deletion) NotFound() []string { return d.notFound }

// Live returns the objects of the app, once ReadLive has read them.
func (d *Deletion) Live() []*unstructured.Unstructured { return d.objects }

// Unlistable returns the error for an app whose objects cannot all be listed; nil if they can.
func (d *Deletion) Unlistable() error {
	if !d.unlistable.keepsRecord() {
		return nil
	}
	return d.unlistable.refuseDelete(d.app)
}

// App returns the app; nil if it does not exist.
func (d *Deletion) App() *App { return d.app }

// SetPlan sets the plan that is going to be run, and checks whose objects it deletes.
func (d *Deletion) SetPlan(ctx context.Context, p *plan.Plan) error {
	d.plan = p
	if !d.Found() {
		return nil
	}
	return d.checkFound(ctx, d.app, d.objects, true)
}

// Plan returns the plan; nil before SetPlan.
func (d *Deletion) Plan() *plan.Plan { return d.plan }

// Config returns the built-in rules.
func (d *Deletion) Config() *config.Config { return config.Default() }

// Shape adds to a policy how the objects of the app are marked.
func (d *Deletion) Shape(p *plan.Policy) {
	if d.Found() {
		shapePolicy(p, d.app, nil)
	}
}

// Owners returns the owners of a live object other than the app.
func (d *Deletion) Owners(live, applied liveObject) []owner.Owner {
	if !d.Found() {
		return nil
	}
	return ownersOf(d.app, live, applied)
}

// Load returns the objects that carry the label of the app, and the live objects. Objects that
// controllers created with this label are members only if they are annotated for it. An app that
// may have more objects than can be listed is an *UnlistableError.
func (d *Deletion) Load(ctx context.Context) (*record.State, error) {
	if !d.Found() {
		return &record.State{}, nil
	}
	if err := checkLabel(d.app); err != nil {
		return nil, err
	}
	if err := d.ReadLive(ctx); err != nil {
		return nil, err
	}
	if err := d.Unlistable(); err != nil {
		return nil, err
	}
	if err := d.noteUnmarked(ctx); err != nil {
		return nil, err
	}
	state := stateOf(d.app, d.objects)
	for _, obj := range d.objects {
		deleted := resource.IsGenerated(obj) || resource.HasAnnotation(obj, resource.AnnOwnedForDeletion)
		if ref := object.RefOf(obj); deleted && state.Live[ref] == nil {
			state.Members, state.Live[ref] = append(state.Members, record.Member{Ref: ref}), obj
		}
	}
	return state, nil
}

// noteUnmarked prints which objects of the record have lost the label of the app, and belong to
// nobody else: they stay in the cluster.
func (d *Deletion) noteUnmarked(ctx context.Context) error {
	unmarked, _, err := d.unlabelled(ctx, d.app, d.objects, d.missed)
	var names []string
	for _, obj := range unmarked {
		if len(d.Owners(obj, nil)) == 0 {
			names = append(names, object.RefOf(obj).String())
		}
	}
	if len(names) > 0 {
		d.Printer.Info(fmt.Sprintf("these objects of the app have lost its label %s and stay in the "+
			"cluster: %s", d.app.Selector(), strings.Join(names, ", ")))
	}
	return err
}

// Exists reports whether the app has a record.
func (d *Deletion) Exists() bool { return d.Found() && d.app.Exists() }

// Unfinished reports whether the last run of the app did not succeed.
func (d *Deletion) Unfinished() bool { return d.Found() && !d.app.LastSucceeded() }

// Holds reports whether an object is the record of the app.
func (d *Deletion) Holds(obj *unstructured.Unstructured) bool {
	return d.Found() && holds(d.app, obj)
}

// Save records the beginning of the run, or how it ended, and the members that are left. The
// namespaces of the app stay recorded: a user who may not list all needs them to find its objects.
func (d *Deletion) Save(ctx context.Context, state *record.State) error {
	if !d.Found() {
		return nil
	}
	if err := d.permit(ctx); err != nil {
		return err
	}
	d.app.SetMembers(slices.Clone(state.Members), state.Gone)
	switch {
	case state.Result == "":
		d.begun, d.running = true, ctx
		return d.app.Begin(ctx, "delete", d.Namespaces(), false)
	case !d.begun:
		return nil
	case state.Result == record.RunInterrupted:
		return d.app.Interrupted(ctx)
	}
	return d.app.Finish(ctx, state.Result == record.RunSucceeded, d.Namespaces())
}

// permit returns an error if the run has begun and lost its lock: a run that has the lock now has
// taken the record over, too.
func (d *Deletion) permit(closing context.Context) error {
	if !d.begun {
		return nil
	}
	return cluster.PermitAtEnd(d.running, closing)
}

// Delete deletes the record of an app without objects, and the records of its deployments. It looks
// for objects once more, and keeps the record if it finds some or cannot look. A record that others
// have written is kept in any case: kapp does not list in it what it is about to create.
func (d *Deletion) Delete(
	ctx context.Context, gone []object.Ref, before record.Before,
) error {
	if !d.Found() {
		if before != nil {
			return before(ctx, func(context.Context) error { return nil })
		}
		return nil
	}
	if err := d.permit(ctx); err != nil {
		return err
	}
	deleted, err := d.DeleteRecord(ctx, d.ifUnchanged(before))
	if changed := d.changedError(err, gone); changed != nil {
		return changed
	}
	if others := (*RecordChangedError)(nil); deleted || !d.begun || errors.As(err, &others) {
		return err
	}
	d.app.SetMembers(nil, nil)
	if failed := d.app.Finish(ctx, err == nil, d.Namespaces()); err == nil {
		err = failed
	}
	return err
}

// ifUnchanged returns a function that calls before, which may be nil, unless another run has begun:
// the records of deployments, which are deleted next, are also of that run.
func (d *Deletion) ifUnchanged(before record.Before) record.Before {
	return func(ctx context.Context, try func(context.Context) error) error {
		conflict := apierrors.NewConflict(configMaps, d.app.Name, errors.New("it was written"))
		if _, err := d.app.readUnchanged(ctx, conflict); err != nil || before == nil {
			return err
		}
		return before(ctx, try)
	}
}

// changedError returns the error of DeleteRecord as a *record.ChangedError if that names an object
// because of which the record was kept; else nil.
func (d *Deletion) changedError(err error, gone []object.Ref) error {
	found, conflict, changed := (*LeftError)(nil), (*RecordChangedError)(nil), &record.ChangedError{}
	switch {
	case errors.As(err, &found):
		for _, obj := range found.Objects {
			changed.Added = append(changed.Added, object.RefOf(obj))
		}
	case errors.As(err, &conflict):
		changed.Added, changed.Gone = d.app.changedMembers(conflict.record, gone)
	}
	if len(changed.Added)+len(changed.Gone) == 0 {
		return nil
	}
	return changed
}

// Namespaces returns those of the objects and of the last deployment.
func (d *Deletion) Namespaces() []string {
	return append(namespacesOf(nil, WithoutTransient(d.objects)),
		d.app.Meta.LastDeployment.Namespaces...)
}

// Finish makes what follows a run: it deletes the oldest records of deployments of an app that
// could not be deleted.
func (d *Deletion) Finish(ctx context.Context, err error) error {
	if !d.begun || !d.app.Exists() {
		return err
	}
	closing, cancel := Closing(ctx)
	defer cancel()
	_, _, failed := d.app.TrimRecords(closing, FewChanges)
	if err == nil {
		err = failed
	}
	return err
}
