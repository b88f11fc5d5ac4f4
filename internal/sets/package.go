package sets

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// packageSet is the set of a package.
type packageSet struct {
	inventory *inventory.Inventory
	pkg       *packages.Package // nil if only the record is known
	rules     []ready.Rule
}

// Title returns what messages call the package.
func (s *packageSet) Title() string { return fmt.Sprintf("package %q", s.inventory.Ref.Name) }

// Record returns the object with the inventory.
func (s *packageSet) Record() object.Ref { return s.inventory.Ref }

// Expected returns the cluster that the inventory names.
func (s *packageSet) Expected() (cluster, where string) {
	return s.inventory.ExpectedCluster()
}

// PrepareApply returns the operation that applies the package.
func (s *packageSet) PrepareApply(
	ctx context.Context, c Cluster, scope packages.Scope, o packages.ApplyOptions,
) (Operation, error) {
	o.Rules = s.rules
	op, err := s.pkg.Prepare(ctx, c, scope, o)
	if err != nil {
		return nil, err
	}
	return packageOperation{Operation: op, prepared: op.CheckRecordNamespace}, nil
}

// PrepareDestroy returns the operation that deletes what the package deployed.
func (s *packageSet) PrepareDestroy(
	ctx context.Context, c Cluster, o packages.DestroyOptions,
) (Operation, error) {
	op, err := packages.PrepareDestroy(c, s.inventory, o)
	if err != nil {
		return nil, err
	}
	if err := packages.CheckDefinition(ctx, c, s.inventory); err != nil {
		return nil, err
	}
	return packageOperation{Operation: op}, nil
}

// Targets returns the objects that the inventory lists.
func (s *packageSet) Targets(
	ctx context.Context, c Cluster, notice func(string),
) (*packages.StatusTargets, error) {
	return packages.LocalMembers(ctx, c, s.inventory, notice)
}

// packageOperation is an operation on a package.
type packageOperation struct {
	*packages.Operation
	prepared func(context.Context) error // checks the plan; nil checks nothing
}

// Lock returns what is locked during the operation.
func (o packageOperation) Lock() lock.Set { return packages.LockSet(o.Inventory) }

// MakePlan reads the record and the cluster, and makes the plan.
func (o packageOperation) MakePlan(ctx context.Context) error {
	if err := o.Operation.MakePlan(ctx); err != nil || o.prepared == nil {
		return err
	}
	return o.prepared(ctx)
}

// Children returns what controllers created for objects of the package.
func (o packageOperation) Children(ctx context.Context) view.ChildRows {
	return packages.ChildRows(ctx, o.Cluster, o.Rules)
}

// Check returns an error unless the plan is the same as a saved one.
func (o packageOperation) Check(ctx context.Context, saved *packages.SavedPlan) error {
	return saved.Check(ctx, o.Operation)
}
