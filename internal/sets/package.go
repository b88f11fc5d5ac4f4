package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// packageSet is the set of a package.
type packageSet struct {
	request   Request
	inventory *inventory.Inventory
	pkg       *packages.Package // nil if only the record is known
	rules     []ready.Rule

	ruleFiles []policy.RuleFile // of the rules
	manifests []plan.Desired    // of a revision: the objects as their files had them; else nil
}

// openPackage reads a package and its rules.
func openPackage(ctx context.Context, r Request) (Set, error) {
	p, err := packages.Open(ctx, r.input())
	if err != nil {
		return nil, err
	}
	return newPackageSet(ctx, r, p)
}

// newPackageSet returns the set of a package that was read, with its rules.
func newPackageSet(ctx context.Context, r Request, p *packages.Package) (Set, error) {
	if err := manifest.NameGenerated(p.Objects); err != nil {
		return nil, err
	}
	err := errors.Join(p.CheckAppAnnotations(), checkRecords(p.Objects))
	if err != nil {
		return nil, err
	}
	s := &packageSet{request: r, inventory: p.Inventory, pkg: p}
	if s.ruleFiles, err = r.readRuleFiles(ctx, r.folder()); err != nil {
		return nil, err
	}
	s.rules, err = policy.ParseRules(s.ruleFiles)
	return s, err
}

// openPackageRecord returns the package with the inventory of a folder.
func openPackageRecord(ctx context.Context, r Request) (Set, error) {
	inv, err := packages.OpenInventory(ctx, r.input())
	if err != nil {
		return nil, err
	}
	return &packageSet{request: r, inventory: inv}, nil
}

// openAdoptingPackage opens a package that is given objects of other tools.
func openAdoptingPackage(ctx context.Context, r Request) (Set, error) {
	set, err := openPackage(ctx, r)
	if err != nil {
		return nil, err
	}
	return set, packages.CheckNoApplySet(set.(*packageSet).inventory, "given objects of other tools")
}

// draftPackage returns the package of a folder that is going to be written.
func draftPackage(r Request, d *packages.Draft, objects []manifest.Object) Set {
	return &packageSet{request: r, inventory: d.Inventory, pkg: &packages.Package{
		Inventory: d.Inventory, Objects: objects,
	}}
}

func (s *packageSet) format() *format { return packageFormat() }

func (s *packageSet) lock() lock.Set { return packages.LockSet(s.inventory) }

func (s *packageSet) markID(context.Context, cluster.Writer) (string, error) {
	return s.inventory.ID, nil
}

func (s *packageSet) requested() Request { return s.request }

func (s *packageSet) described() []manifest.Object {
	if s.pkg == nil {
		return nil
	}
	return s.pkg.Objects
}

func (s *packageSet) holders(
	ctx context.Context, c cluster.Writer,
) (object.Ref, []types.UID, error) {
	holders, err := packages.Holders(ctx, c, s.inventory)
	return s.inventory.Ref, holders, err
}

func (s *packageSet) forget(ctx context.Context, c cluster.Writer, members *object.Set) error {
	return packages.Forget(ctx, c, s.inventory, members)
}

func (s *packageSet) remove(ctx context.Context, c cluster.Writer) error {
	store := inventory.NewStore(c, s.inventory, true)
	if _, err := store.Load(ctx); err != nil {
		return err
	}
	return store.Remove(ctx)
}

func (s *packageSet) restored(r restoredFiles) (Set, error) {
	return &packageSet{
		request: r.request, inventory: s.inventory, rules: r.rules, ruleFiles: r.ruleFiles,
		manifests: r.manifests, pkg: &packages.Package{Inventory: s.inventory, Objects: r.objects},
	}, nil
}

// Title returns what messages call the package.
func (s *packageSet) Title() string { return fmt.Sprintf("package %q", s.inventory.Ref.Name) }

// Name returns the name and the namespace of the inventory.
func (s *packageSet) Name() (namespace, name string) {
	return s.inventory.Ref.Namespace, s.inventory.Ref.Name
}

// Expected returns the cluster that the inventory names.
func (s *packageSet) Expected() (cluster, where string) { return s.inventory.ExpectedCluster() }

// PrepareApply returns the operation that applies the package.
func (s *packageSet) PrepareApply(
	ctx context.Context, c cluster.Writer, o operation.ApplyOptions,
) (*Operation, error) {
	o.Rules, o.Notice = s.rules, s.request.Notice
	op, err := s.pkg.Prepare(ctx, c, s.request.scope(), o)
	if err != nil {
		return nil, err
	}
	return s.operation(c, packageWork{op, s, o.Options, op.CheckRecordNamespace}), nil
}

// PrepareDestroy returns the operation that deletes what the package deployed.
func (s *packageSet) PrepareDestroy(
	ctx context.Context, c cluster.Writer, o operation.DestroyOptions,
) (*Operation, error) {
	o.Notice = s.request.Notice
	op, err := packages.PrepareDestroy(c, s.inventory, o)
	if err != nil {
		return nil, err
	}
	if err := packages.CheckDefinition(ctx, c, s.inventory); err != nil {
		return nil, err
	}
	return s.operation(c, packageWork{op, s, o.Options, nil}), nil
}

// Targets returns the objects that the inventory lists.
func (s *packageSet) Targets(
	ctx context.Context, c cluster.Writer,
) (*operation.StatusTargets, error) {
	return packages.LocalMembers(ctx, c, s.inventory, s.request.Notice)
}

// PrepareRename returns how the inventory, in the cluster and in its file, gets another name and
// namespace.
func (s *packageSet) PrepareRename(c cluster.Writer, namespace, name string) (*Renaming, error) {
	r, err := packages.PrepareRename(s.request.folder(), s.inventory, namespace, name)
	if err != nil {
		return nil, err
	}
	return &Renaming{
		Locks: r.Locks(),
		Run: func(ctx context.Context) (bool, error) {
			if err := packages.CheckDefinition(ctx, c, s.inventory); err != nil {
				return false, err
			}
			return r.Run(ctx, c)
		},
	}, nil
}

// Mark returns the annotation with the ID of the inventory.
func (s *packageSet) Mark(context.Context, cluster.Writer) (Mark, error) {
	return Mark{Text: packages.Mark(s.inventory), Annotation: true}, nil
}

// History returns the inventory for its history.
func (s *packageSet) History(context.Context, cluster.Writer) (history.Set, error) {
	return packageHistory(s.inventory), nil
}

func packageHistory(inv *inventory.Inventory) history.Set {
	return history.Set{
		Namespace: inv.Ref.Namespace, Name: inv.Ref.Name, Record: inv.Ref.Short(), ID: inv.ID,
	}
}

// packageWork is the part of an operation on a package that depends on its record.
type packageWork struct {
	*operation.Operation
	set     *packageSet
	options policy.Options
	check   func(context.Context) error // checks the plan; nil checks nothing
}

// operation returns the operation on the package with the given part.
func (s *packageSet) operation(c cluster.Writer, w packageWork) *Operation {
	op := &Operation{
		Locked: s.lock(), Described: w.Described(), Manifests: w.Manifests,
		cluster: c, rules: w.Rules, format: w, work: w.Operation,
	}
	if s.manifests != nil {
		op.Manifests = s.manifests
	}
	return op
}

func (w packageWork) makePlan(ctx context.Context, op *Operation) error {
	if err := w.Operation.MakePlan(ctx); err != nil {
		return err
	}
	op.Plan, op.Described, op.planned = w.Plan(), w.Described(), w.Described()
	op.Recorded, op.Unfinished = w.Recorded(), w.Unfinished()
	stay := slices.ContainsFunc(op.Plan.Steps, func(s plan.Step) bool {
		return s.ReasonCode == plan.ReasonNotPruned
	})
	op.Basis = Basis{Options: w.options, Rules: w.set.ruleFiles, Partial: partial(w.options, stay)}
	members := append([]object.Ref{}, op.Plan.Recorded...) // not nil
	leaveCompleted(ctx, op, w.options, members, w.set.request.Now())
	if w.check == nil {
		return nil
	}
	return w.check(ctx)
}

func (w packageWork) permit(held []object.Ref) { w.Permit(held) }

func (w packageWork) continueHistory(
	context.Context, func(context.Context, bool) (string, error),
) error {
	return nil
}

func (w packageWork) checkEmpty(*Operation) error {
	return w.CheckEmpty("the package of " + w.set.inventory.Source)
}

func (w packageWork) history() history.Set { return packageHistory(w.set.inventory) }

func (w packageWork) finish(_ context.Context, _ engine.DryRun, err error) error { return err }

func (w packageWork) source() operation.PlanSource {
	inv := w.set.inventory
	return w.Source("package", fmt.Sprintf("%s %s", inv.Ref, inv.ID))
}
