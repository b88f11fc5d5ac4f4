// Package operation plans and runs what a command does to a set, whatever the format of its record,
// saves and compares plans, and keeps the records of others from being deleted.
package operation

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// ApplyOptions are the options with which a set is applied.
type ApplyOptions struct {
	policy.Options
	Rules      []ready.Rule
	Definition DefinitionPolicy
	NoStatuses bool // the record does not hold how each object is left
	Notice     func(string)
}

// DestroyOptions are the options with which a set is deleted. Of those of a plan only
// InventoryPolicy, Propagation, Ordering, Hold and AllowDelete count.
type DestroyOptions struct {
	policy.Options
	NoStatuses bool // the record does not hold how each object is left
	Notice     func(string)
}

// DefinitionPolicy is what becomes of the definition of the kind of records.
type DefinitionPolicy int

// The policies.
const (
	SkipDefinition    DefinitionPolicy = iota // as a dry run, which records nothing
	RequireDefinition                         // fail if it is missing
	InstallDefinition                         // install it if it is missing or outdated
	InstallAtRun                              // the same, but by Define
)

// Operation is what a command does to the objects of a set: what its plan is made from, and the
// plan.
type Operation struct {
	Cluster cluster.Writer
	Rules   *ready.RuleSet
	Policy  plan.Policy
	Desired []plan.Desired
	// Manifests are the desired objects as their files have them, in their namespaces.
	Manifests []plan.Desired
	// Random are texts in the desired objects that each operation has others of.
	Random []string

	plan     *plan.Plan // nil before MakePlan
	options  policy.Options
	format   Format
	engine   *engine.Engine
	versions *policy.Versions // nil if no versions are kept
}

// MakePlan reads the record and the cluster and makes the plan.
func (o *Operation) MakePlan(ctx context.Context) error {
	o.findOwners(ctx)
	request := engine.Request{Desired: o.Desired, Policy: o.Policy, Protect: o.protect,
		Only: o.options.Only}
	if o.versions != nil {
		o.versions.Policy = o.Policy
		request.Settle = o.versions.Settle
	}
	var err error
	o.plan, err = o.engine.Plan(ctx, request)
	return err
}

// Permit lets the next plan delete the objects that this one has held back.
func (o *Operation) Permit(held []object.Ref) {
	for _, ref := range held {
		o.options.AllowDelete = append(o.options.AllowDelete, ref.GroupKind().String())
	}
	o.Policy.Held = o.options.Held()
}

// EmptyError reports a set without objects whose apply would prune everything that it deployed.
type EmptyError struct {
	Set     string // as in: the package of rg.yaml
	Removed int    // number of objects that would be removed
}

func (e *EmptyError) Error() string {
	return fmt.Sprintf("%s describes no object, so everything that it deployed would "+
		"be pruned (objects: %d); nothing was applied or deleted\n"+
		"check that no manifest is missing, or use --allow-empty to prune, --no-prune to keep them",
		e.Set, e.Removed)
}

// CheckEmpty returns an *EmptyError with the name of the set if nothing is desired and the plan
// removes objects, unless the options allow that.
func (o *Operation) CheckEmpty(set string) error {
	if len(o.Desired) > 0 || o.plan.Destroys || o.options.AllowEmpty || !o.plan.Removes() {
		return nil
	}
	return &EmptyError{Set: set, Removed: len(o.plan.Recorded)}
}

// Plan returns the plan; nil before MakePlan.
func (o *Operation) Plan() *plan.Plan { return o.plan }

// Described returns the desired objects, with the versions that the plan gives them.
func (o *Operation) Described() []plan.Desired {
	if o.versions != nil && o.versions.Desired != nil {
		return o.versions.Desired
	}
	return o.Desired
}

// Sources returns the file and document that describes each desired object.
func (o *Operation) Sources() map[object.Ref]string {
	sources := make(map[object.Ref]string, len(o.Desired))
	for _, d := range o.Described() {
		sources[object.RefOf(d.Object)] = d.Source
	}
	return sources
}

// UnknownGroups returns the groups that change rules of desired objects name and no object has.
func (o *Operation) UnknownGroups() map[object.Ref][]string {
	if !o.options.AppAnnotations {
		return nil
	}
	return policy.UnknownGroups(o.Desired, o.format.Config)
}

// Defines returns what Define does; empty for nothing.
func (o *Operation) Defines() string { return o.format.Definition.Text }

// Define makes sure that the cluster can hold the record, before the first write. It reports
// whether the plan has to be made again.
func (o *Operation) Define(ctx context.Context) (again bool, err error) {
	if o.format.Definition.Define == nil {
		return false, nil
	}
	return o.format.Definition.Define(ctx)
}

// Recorded reports whether the cluster had a record of the set when the plan was made.
func (o *Operation) Recorded() bool { return o.format.Record.Exists() }

// Unfinished reports whether the record says that the run before did not succeed.
func (o *Operation) Unfinished() bool { return o.format.Record.Unfinished() }

// Run runs the plan.
func (o *Operation) Run(
	ctx context.Context, options engine.Options, sink event.Sink,
) (event.Summary, error) {
	return o.engine.Apply(ctx, o.plan, options, sink)
}

// Observe watches objects and reports their states.
func Observe(
	ctx context.Context, c cluster.Writer, rules *ready.RuleSet, refs []object.Ref,
	o engine.ObserveOptions, sink event.Sink,
) (bool, error) {
	eng := &engine.Engine{Cluster: c, Records: record.Discard{}, Rules: rules}
	return eng.Observe(ctx, refs, o, sink)
}
