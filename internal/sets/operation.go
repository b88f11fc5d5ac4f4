package sets

import (
	"context"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Operation is what a command does to a set: what is wanted, and the plan. It is prepared without
// reading the record, locked, planned and run, in this order.
type Operation struct {
	// Locked is what is locked during the operation. The lock is taken before MakePlan.
	Locked lock.Set
	// Described are the desired objects, with the file and document of each. MakePlan gives those of
	// which versions are kept the names of their versions.
	Described []plan.Desired
	// Manifests are the desired objects as their files have them, in their namespaces: without
	// versions, marks of the set and values that the run fills in.
	Manifests []plan.Desired

	// What is known once the plan is made.
	Plan       *plan.Plan // nil before
	Basis      Basis      // what the plan is made from, beside the objects
	Recorded   bool       // there was a record
	Unfinished bool       // and it says that the run before did not succeed

	// Revise changes a plan that was made; nil leaves it.
	Revise func(context.Context) error
	// Begin is called before a run that is no dry run; its error ends the run. It may be nil.
	Begin func(context.Context) error
	// Listeners receive the events of runs, before their sinks.
	Listeners []event.Sink
	// MayBeEmpty means that nothing is pruned because it is not described any more.
	MayBeEmpty bool

	cluster cluster.Writer
	rules   *ready.RuleSet
	format  formatted
	work    runner // nil for an app before its plan is made

	planned []plan.Desired // the desired objects as the plan has them, once it is made
	hidden  error          // why the set may have objects that the plan does not know
}

// formatted is the part of an operation that depends on the format of the record.
type formatted interface {
	// makePlan makes the plan, and sets what is known then, and what runs it.
	makePlan(context.Context, *Operation) error
	// permit lets the next plan delete the objects that this one has held back.
	permit(held []object.Ref)
	// checkEmpty returns an error if nothing is desired and the plan removes objects, unless the
	// options allow that.
	checkEmpty(*Operation) error
	// finish is called after a run in a mode, with its error.
	finish(context.Context, engine.DryRun, error) error
	// history returns the set to whose history the operation belongs, once it has run.
	history() history.Set
	// continueHistory makes the history of the predecessor, if there is one, that of the set. A set
	// that keeps its ID when it is destroyed needs nothing.
	continueHistory(
		ctx context.Context, predecessor func(_ context.Context, isNew bool) (id string, err error),
	) error
	// source returns what a saved plan keeps.
	source() operation.PlanSource
}

// runner is the part of an operation that is the same for every format: an *operation.Operation.
type runner interface {
	UnknownGroups() map[object.Ref][]string
	Defines() string
	Define(context.Context) (again bool, err error)
	Run(context.Context, engine.Options, event.Sink) (event.Summary, error)
}

// MakePlan reads the record and the cluster, and makes the plan.
func (o *Operation) MakePlan(ctx context.Context) error {
	if err := o.format.makePlan(ctx, o); err != nil || o.Revise == nil {
		return err
	}
	return o.Revise(ctx)
}

// AllowDelete makes the plan again, so that it deletes the objects that it held back.
func (o *Operation) AllowDelete(ctx context.Context) error {
	o.format.permit(o.Plan.HeldBack())
	return o.MakePlan(ctx)
}

// Defines returns what Define does to the definition of the kind of records; empty for nothing.
func (o *Operation) Defines() string { return o.work.Defines() }

// Define makes sure that the cluster can hold the record, before the first write. It makes the plan
// again if that is needed, and reports whether it was.
func (o *Operation) Define(ctx context.Context) (again bool, err error) {
	if again, err = o.work.Define(ctx); err == nil && again {
		err = o.MakePlan(ctx)
	}
	return again, err
}

// CheckEmpty returns an error if nothing is desired and the plan removes objects, unless the
// options allow that.
func (o *Operation) CheckEmpty() error {
	if o.MayBeEmpty {
		return nil
	}
	return o.format.checkEmpty(o)
}

// Run runs the plan and records the result. Objects that are not applied, or not destroyed, because
// they do not belong to the set count as refused. An object that is not pruned for this reason does
// not: another set has taken it over. What is not deleted because others have their records in it
// counts always.
func (o *Operation) Run(
	ctx context.Context, options engine.Options, sink event.Sink,
) (event.Summary, error) {
	if o.Begin != nil && options.DryRun == engine.DryRunNone {
		if err := o.Begin(ctx); err != nil {
			return event.Summary{}, err
		}
	}
	refused, destroys := 0, o.Plan.Destroys
	summary, err := o.work.Run(ctx, options, func(e event.Event) {
		others := e.ReasonCode == plan.ReasonForeign || e.ReasonCode == plan.ReasonUnowned
		protected := e.ReasonCode == plan.ReasonProtected && e.Op == plan.Keep
		if e.Kind == event.Acted && (protected || others && (e.Op == plan.Skip || destroys)) {
			refused++
		}
		for _, hear := range o.Listeners {
			hear(e)
		}
		sink(e)
	})
	summary.Refused = refused
	return summary, o.format.finish(ctx, options.DryRun, err)
}

// History returns the set to whose history the operation belongs, once it has run. It has no ID if
// it never had a record, and is empty if it cannot have a history.
func (o *Operation) History() history.Set { return o.format.history() }

// Children returns what controllers created for objects of the set.
func (o *Operation) Children(ctx context.Context) view.ChildRows {
	return operation.ChildRows(ctx, o.cluster, o.rules)
}

// Save returns the plan in the format of a file; version is that of the program.
func (o *Operation) Save(ctx context.Context, version string) (*operation.SavedPlan, error) {
	source := o.format.source()
	source.Version, source.Plan = version, o.Plan
	return operation.SavePlan(ctx, o.cluster, source)
}

// Digest returns the digest of what the plan changes, as plan.Plan.Digest does.
func (o *Operation) Digest() (string, error) { return o.Plan.Digest(o.format.source().Random...) }

// Check returns an error unless the plan is the same as a saved one.
func (o *Operation) Check(ctx context.Context, saved *operation.SavedPlan) error {
	now, err := o.Save(ctx, "")
	if err != nil {
		return err
	}
	return saved.Compare(now, o.format.source().Noun)
}
