package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// PlanOptions are the options that shape a plan. A saved plan holds them.
type PlanOptions struct {
	ServerSide      bool           `json:"serverSide"`
	ForceConflicts  bool           `json:"forceConflicts"`
	Conflicts       plan.Conflicts `json:"conflicts,omitempty"`
	FieldManager    string         `json:"fieldManager"`
	InventoryPolicy string         `json:"inventoryPolicy"`
	// Propagation is empty for Background with a wait for the pods of deleted workloads.
	Propagation       metav1.DeletionPropagation `json:"prunePropagationPolicy"`
	PruneAfterFailure bool                       `json:"pruneAfterFailure"`
	Ordering          string                     `json:"ordering"`
	Recreate          []string                   `json:"recreate,omitempty"` // kinds; see Recreation
	NoPrune           bool                       `json:"noPrune,omitempty"`
	AllowEmpty        bool                       `json:"allowEmpty,omitempty"` // see CheckEmpty
	// AllowDelete are the held kinds whose objects may be deleted if Hold is set.
	AllowDelete plan.AllowDelete `json:"allowDelete,omitempty"`
	// Hold keeps objects that hold other objects or data.
	Hold bool `json:"-"`
	// Filter selects the objects that are written or deleted. The others stay in the cluster and in
	// the record. Ages are relative to Now, which is also the nonce of objects that want one.
	Filter filter.Flags `json:"filter,omitzero"`
	Now    time.Time    `json:"-"`
	// AppAnnotations honours the annotations of kapp too, as far as packages can.
	AppAnnotations bool `json:"-"`
	// Adopted are objects that may be taken from others whatever InventoryPolicy says.
	Adopted *object.Set `json:"-"`
	// LeaveReplicas leaves the replicas of workloads to their autoscalers. A saved plan shows it in
	// the reasons of its steps.
	LeaveReplicas bool `json:"-"`
	// Ignore are fields that are left to others once their object exists.
	Ignore diff.IgnoreRules `json:"-"`
	// Recreation explains updates that fail because a field is immutable, and recreates the objects
	// with the annotation for that and those of the kinds in Recreate: KIND or KIND.GROUP, or * for
	// all kinds whose objects hold no data or other objects.
	Recreation bool `json:"-"`
	// OnlyInventories recognizes no owners but packages, as kpt does: objects of apps, Helm and
	// others have no owner. Notice receives a line for each of them that is changed, and none about
	// older formats of inventories. Objects that other packages have taken over stay in the record.
	// Objects that are being deleted are written, and not created again once they are gone. Those that
	// are too large for client-side apply fail.
	OnlyInventories bool `json:"-"`
	// Comparison shapes plans whose live objects are compared with the desired ones.
	Comparison `json:"-"`
}

// Comparison is what plans do for those who compare the live objects with the desired ones. The
// zero value is nothing.
type Comparison struct {
	Owners bool // read the owners of the fields of all objects
	// NewestVersions plans the newest version of each object of which versions are kept, where there
	// is one: a plan makes no new version, and renews none.
	NewestVersions bool
	AllKinds       bool // find objects with the label of an app that are of a kind it never had
	// Only is for a plan that is not run: namespaces of objects need not exist, and it is left to the
	// caller to report what cannot be listed.
	Only bool
}

// Adoption returns the degree of adoption that the inventory policy stands for.
func (o PlanOptions) Adoption() plan.Adoption {
	switch o.InventoryPolicy {
	case "adopt":
		return plan.AdoptUnowned
	case "force-adopt":
		return plan.AdoptAll
	default:
		return plan.AdoptNone
	}
}

// Waves reports whether objects are written in waves.
func (o PlanOptions) Waves() bool { return o.Ordering == "waves" }

// policy returns the policy of a plan for the objects of a set.
func (o PlanOptions) policy(f Format) (plan.Policy, error) {
	p, err := f.Policy(o.Adoption())
	p.Owner.Adopts = o.Adopted
	o.limitOwners(&p)
	p.Waves = o.Waves()
	p.ServerSide, p.Manager, p.Conflicts = o.ServerSide, cmp.Or(p.Manager, o.FieldManager), o.Conflicts
	p.Force = o.ForceConflicts || o.Conflicts == plan.TakeAll
	if o.FieldManager == DefaultManager && p.LastApplied == lastAppliedKey {
		p.LastAppliedManager = lastAppliedManager
	}
	p.Propagation, p.PruneAfterFailure = o.Propagation, o.PruneAfterFailure
	p.AwaitPods = o.Propagation == ""
	p.LeaveReplicas, p.NoPrune, p.Ignore = o.LeaveReplicas, o.NoPrune, o.Ignore
	p.EncodeStringData = o.AppAnnotations // kubectl lets them stay
	if o.Recreation {
		p.Replacement, p.RecreateHint = o.Replacement, RecreateHint
	}
	p.RecreateDeleted, p.OnlyClientSide = !o.OnlyInventories, o.OnlyInventories
	p.Owners = o.Owners
	p.Held = o.held()
	if o.AppAnnotations {
		o.honourApps(&p, f.Config)
	}
	matching, invalid := o.Filter.ResourceFilter(o.Now)
	if matching != nil {
		p.Excluded = unselected(matching, p.Excluded)
	}
	return p, errors.Join(err, invalid)
}

// honourApps adds to a policy what the annotations of kapp say, and the rules of a configuration.
func (o PlanOptions) honourApps(p *plan.Policy, rules *config.Config) {
	p.Retain = append(p.Retain, plan.Annotation{Key: resource.AnnDeleteStrategy, Value: "orphan"})
	p.CreateOnly = append(p.CreateOnly,
		plan.Annotation{Key: resource.AnnUpdateStrategy, Value: "skip"})
	p.Constraints, p.Excluded, p.Waiting = constraintsOf(rules), excluded, waitingInBoth
	p.External = resource.IsExternal
	if o.Recreation {
		p.Replacement = o.replacementInBoth
	}
}

// held returns the kinds of which no object is deleted.
func (o PlanOptions) held() []schema.GroupKind {
	if !o.Hold {
		return nil
	}
	return o.AllowDelete.Held()
}

// limitOwners makes a policy recognize packages alone and keep objects of other packages in the
// record, if the options want that. Otherwise the ways to adopt are those of all kinds of set.
func (o PlanOptions) limitOwners(p *plan.Policy) {
	if o.OnlyInventories {
		p.Owner.Others = nil
		return
	}
	p.Owner.DropForeign = true
	p.Owner.AdoptHint = "--adopt=unowned takes it over"
	p.Owner.ForeignHint = "--adopt=all takes it over"
}

// ApplyOptions are the options of PrepareApply.
type ApplyOptions struct {
	PlanOptions
	Rules      []ready.Rule
	Definition DefinitionPolicy
	NoStatuses bool // the record does not hold how each object is left
	Notice     func(string)
}

// Operation is what a command does to the objects of a package: what its plan is made from, and the
// plan.
type Operation struct {
	Inventory *inventory.Inventory // nil for a set that is no package
	Cluster   cluster.Writer
	Rules     *ready.RuleSet
	Policy    plan.Policy
	Desired   []plan.Desired

	manifests []plan.Desired // Desired without a nonce

	plan    *plan.Plan // nil before MakePlan
	options PlanOptions
	nonce   string // of this operation, if an object has one
	notice  func(string)
	format  Format
	engine  *engine.Engine

	versioning *versioning     // nil if no versions are kept
	definition definitionState // Define makes it current
}

// PrepareApply prepares to apply a package. It writes nothing to the cluster except the
// ResourceGroup definition, if the options want that at once.
func PrepareApply(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, desired []plan.Desired,
	o ApplyOptions,
) (*Operation, error) {
	definition, err := prepareDefinition(ctx, c, inv, o)
	if err != nil {
		return nil, err
	}
	rules, err := NewRuleSet(ctx, c, o.Rules, refsOf(desired))
	if err != nil {
		return nil, err
	}
	format := PackageFormat(c, inv, rules, !o.NoStatuses)
	policy, err := o.policy(format)
	if err != nil {
		return nil, err
	}
	if !o.OnlyInventories {
		inv.Advise(o.Notice)
	}
	labelled, err := withApplySetLabel(inv, desired)
	if err != nil {
		return nil, err
	}
	op := format.operation(c, rules)
	op.Inventory, op.Policy, op.Desired, op.manifests = inv, policy, labelled, desired
	op.options, op.notice, op.definition = o.PlanOptions, o.Notice, definition
	if o.AppAnnotations {
		op.Desired, op.nonce = withNonce(labelled, o.Now)
		op.versioning = newVersioning(op.Desired, &op.Policy, format.Config, o.PlanOptions)
	}
	return op, nil
}

// Prepare prepares to apply the package to a cluster.
func (p *Package) Prepare(
	ctx context.Context, c cluster.Writer, s Scope, o ApplyOptions,
) (*Operation, error) {
	desired, err := p.Resolve(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return PrepareApply(ctx, c, p.Inventory, desired, o)
}

// DestroyOptions are the options of PrepareDestroy. Of the options of a plan only InventoryPolicy,
// Propagation, Ordering, Hold and AllowDelete count.
type DestroyOptions struct {
	PlanOptions
	NoStatuses bool // the record does not hold how each object is left
	Notice     func(string)
}

// PrepareDestroy prepares to delete everything that a package deployed.
func PrepareDestroy(
	c cluster.Writer, inv *inventory.Inventory, o DestroyOptions,
) (*Operation, error) {
	op, err := PackageFormat(c, inv, nil, !o.NoStatuses).PrepareDestroy(c, o.PlanOptions)
	if err != nil {
		return nil, err
	}
	if !o.OnlyInventories {
		inv.Advise(o.Notice)
	}
	op.Inventory, op.notice = inv, o.Notice
	return op, nil
}

// destroying returns the policy of a plan that deletes all objects of a set.
func (o PlanOptions) destroying(f Format) (plan.Policy, error) {
	p, err := f.Policy(o.Adoption())
	o.limitOwners(&p)
	p.Destroy, p.Propagation, p.Waves = true, o.Propagation, o.Waves()
	p.AwaitPods = o.Propagation == ""
	if o.AppAnnotations {
		o.honourApps(&p, f.Config)
	}
	p.Held = o.held()
	return p, err
}

// LockSet returns what is locked while the objects of an inventory are changed.
func LockSet(inv *inventory.Inventory) lock.Set {
	return lock.Set{Namespace: inv.Ref.Namespace, ID: inv.ID, Name: inv.Ref.Name}
}

// MakePlan reads the record and the cluster and makes the plan.
func (o *Operation) MakePlan(ctx context.Context) error {
	o.findOwners(ctx)
	request := engine.Request{Desired: o.Desired, Policy: o.Policy, Protect: o.protect,
		Only: o.options.Only}
	if o.versioning != nil {
		o.versioning.policy = o.Policy
		request.Settle = o.versioning.settle
	}
	p, err := o.engine.Plan(ctx, request)
	o.plan = p
	if err != nil {
		return err
	}
	if o.options.OnlyInventories && o.notice != nil {
		o.noteTaken(ctx)
	}
	return nil
}

// Permit lets the next plan delete the objects that this one has held back.
func (o *Operation) Permit(held []object.Ref) {
	for _, ref := range held {
		o.options.AllowDelete = append(o.options.AllowDelete, ref.GroupKind().String())
	}
	o.Policy.Held = o.options.held()
}

// EmptyError reports a package without objects whose apply would prune everything that the package
// deployed.
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

// CheckEmpty returns an *EmptyError if nothing is desired and the plan removes objects, unless the
// options allow that.
func (o *Operation) CheckEmpty() error {
	if len(o.Desired) > 0 || o.plan.Destroys || o.options.AllowEmpty || !o.plan.Removes() {
		return nil
	}
	return &EmptyError{Set: "the package of " + o.Inventory.Source, Removed: len(o.plan.Recorded)}
}

// Plan returns the plan; nil before MakePlan.
func (o *Operation) Plan() *plan.Plan { return o.plan }

// Described returns the desired objects, with the versions that the plan gives them.
func (o *Operation) Described() []plan.Desired {
	if o.versioning != nil && o.versioning.desired != nil {
		return o.versioning.desired
	}
	return o.Desired
}

// Manifests returns the desired objects as their files have them, in their namespaces.
func (o *Operation) Manifests() []plan.Desired { return o.manifests }

// Sources returns the file and document that describes each desired object.
func (o *Operation) Sources() map[object.Ref]string {
	sources := make(map[object.Ref]string, len(o.Desired))
	for _, d := range o.Described() {
		sources[object.RefOf(d.Object)] = d.Source
	}
	return sources
}

// Recorded reports whether the cluster had a record of the package when the plan was made.
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

func refsOf(desired []plan.Desired) []object.Ref {
	refs := make([]object.Ref, len(desired))
	for i, d := range desired {
		refs[i] = object.RefOf(d.Object)
	}
	return refs
}
