package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// packageSet is the set of a package.
type packageSet struct {
	request   Request
	inventory *inventory.Inventory
	pkg       *packages.Package // nil if only the record is known
	rules     []ready.Rule

	ruleFiles []packages.RuleFile // of the rules
	manifests []plan.Desired      // of a revision: the objects as their files had them; else nil
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
	s.rules, err = packages.ParseRules(s.ruleFiles)
	return s, err
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
	ctx context.Context, c Cluster, o packages.ApplyOptions,
) (Operation, error) {
	o.Rules, o.Notice = s.rules, s.request.Notice
	op, err := s.pkg.Prepare(ctx, c, s.request.scope(), o)
	if err != nil {
		return nil, err
	}
	return packageOperation{
		Operation: op, cluster: c, check: op.CheckRecordNamespace, set: s, options: o.PlanOptions,
	}, nil
}

// PrepareDestroy returns the operation that deletes what the package deployed.
func (s *packageSet) PrepareDestroy(
	ctx context.Context, c Cluster, o packages.DestroyOptions,
) (Operation, error) {
	o.Notice = s.request.Notice
	op, err := packages.PrepareDestroy(c, s.inventory, o)
	if err != nil {
		return nil, err
	}
	if err := packages.CheckDefinition(ctx, c, s.inventory); err != nil {
		return nil, err
	}
	return packageOperation{Operation: op, cluster: c, set: s, options: o.PlanOptions}, nil
}

// Targets returns the objects that the inventory lists.
func (s *packageSet) Targets(ctx context.Context, c Cluster) (*packages.StatusTargets, error) {
	return packages.LocalMembers(ctx, c, s.inventory, s.request.Notice)
}

// PrepareRename returns how the inventory, in the cluster and in its file, gets another name and
// namespace.
func (s *packageSet) PrepareRename(c Cluster, namespace, name string) (*Renaming, error) {
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
func (s *packageSet) Mark(context.Context, Cluster) (Mark, error) {
	return Mark{Text: packages.Mark(s.inventory), Annotation: true}, nil
}

// History returns the inventory for its history.
func (s *packageSet) History(context.Context, Cluster) (history.Set, error) {
	return packageHistory(s.inventory), nil
}

func packageHistory(inv *inventory.Inventory) history.Set {
	return history.Set{
		Namespace: inv.Ref.Namespace, Name: inv.Ref.Name, Record: inv.Ref.Short(), ID: inv.ID,
	}
}

// packageOperation is an operation on a package.
type packageOperation struct {
	*packages.Operation
	cluster Cluster
	check   func(context.Context) error // checks the plan; nil checks nothing
	set     *packageSet
	options packages.PlanOptions
}

// Manifests returns the desired objects as their files have them, in their namespaces.
func (o packageOperation) Manifests() []plan.Desired {
	if o.set.manifests != nil {
		return o.set.manifests
	}
	return o.Operation.Manifests()
}

// Basis returns what the operation is made from.
func (o packageOperation) Basis() Basis {
	stay := slices.ContainsFunc(o.Plan().Steps, func(s plan.Step) bool {
		return s.ReasonCode == plan.ReasonNotPruned
	})
	return Basis{Options: o.options, Rules: o.set.ruleFiles, Partial: partial(o.options, stay)}
}

// Lock returns what is locked during the operation.
func (o packageOperation) Lock() lock.Set { return packages.LockSet(o.Inventory) }

// History returns the inventory for its history.
func (o packageOperation) History() history.Set { return packageHistory(o.Inventory) }

// MakePlan reads the record and the cluster, and makes the plan.
func (o packageOperation) MakePlan(ctx context.Context) error {
	if err := o.Operation.MakePlan(ctx); err != nil {
		return err
	}
	members := append([]object.Ref{}, o.Plan().Recorded...) // not nil
	leaveCompleted(ctx, o.cluster, o, o.options, members, o.set.request.Now())
	if o.check == nil {
		return nil
	}
	return o.check(ctx)
}

// AllowDelete makes the plan again, so that it deletes the objects that it held back.
func (o packageOperation) AllowDelete(ctx context.Context) error {
	o.PermitDelete()
	return o.MakePlan(ctx)
}

// Define makes sure that the cluster can hold the record.
func (o packageOperation) Define(ctx context.Context) (again bool, err error) {
	if again, err = o.Operation.Define(ctx); err == nil && again {
		err = o.MakePlan(ctx)
	}
	return again, err
}

// Run runs the plan and records the result.
func (o packageOperation) Run(
	ctx context.Context, options engine.Options, sink event.Sink,
) (event.Summary, error) {
	return countRefused(ctx, o.Operation, options, sink)
}

// Children returns what controllers created for objects of the package.
func (o packageOperation) Children(ctx context.Context) view.ChildRows {
	return packages.ChildRows(ctx, o.Cluster, o.Rules)
}

// Check returns an error unless the plan is the same as a saved one.
func (o packageOperation) Check(ctx context.Context, saved *packages.SavedPlan) error {
	return saved.Check(ctx, o.Operation)
}
