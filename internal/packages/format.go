package packages

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// Format is what an operation has to know of the format in which the record of a set is kept.
type Format struct {
	Record RecordStore
	// Shape adds to a policy how the objects of the set are marked, and what they keep of what was
	// applied to them.
	Shape func(*plan.Policy)
	// Owners returns the owners of a live object other than the set. Applied is as in plan.Owner.
	Owners func(live, applied *unstructured.Unstructured) []owner.Owner
	// AdviceOn returns what users may do about an object of another owner, which has the name of its
	// record; empty for nothing beyond taking it over. Nil: nothing.
	AdviceOn func(owner.Owner) string
	// Rules judge the objects.
	Rules engine.Rules
	// Config are the rules of Config documents among the manifests, after the built-in ones.
	Config *config.Config
}

// RecordStore is the record of a set.
type RecordStore interface {
	record.Store
	// Exists reports whether there was a record when it was loaded.
	Exists() bool
	// Unfinished reports whether the record said that the run before did not succeed.
	Unfinished() bool
	// Holds reports whether an object is a part of the record.
	Holds(obj *unstructured.Unstructured) bool
}

// PackageFormat returns the format of a package.
func PackageFormat(
	c cluster.Writer, inv *inventory.Inventory, rules *ready.RuleSet, statuses bool,
) Format {
	return Format{
		Record: inventory.NewStore(c, inv, statuses),
		Shape:  func(p *plan.Policy) { markObjects(p, inv) },
		Owners: func(live, applied *unstructured.Unstructured) []owner.Owner {
			return ownersOf(inv, live, applied)
		},
		Rules: rules, Config: config.Default(),
	}
}

// Prepare prepares to apply objects of a set in a format. Their marks are set already, except that
// of plan.Owner. The rules are those by which a user sees the objects that they own.
func (f Format) Prepare(
	c cluster.Writer, desired []plan.Desired, rules *ready.RuleSet, o PlanOptions,
) (*Operation, error) {
	op := f.operation(c, rules)
	policy, err := o.policy(f)
	if err != nil {
		return nil, err
	}
	op.Policy, op.options, op.Desired, op.manifests = policy, o, desired, desired
	op.versioning = newVersioning(desired, &op.Policy, f.Config, o)
	return op, nil
}

// PrepareDestroy prepares to delete all objects of a set in a format.
func (f Format) PrepareDestroy(c cluster.Writer, o PlanOptions) (*Operation, error) {
	policy, err := o.destroying(f)
	if err != nil {
		return nil, err
	}
	op := f.operation(c, nil) // what is deleted is not judged
	op.Policy, op.options = policy, o
	return op, nil
}

// operation returns an operation without a policy.
func (f Format) operation(c cluster.Writer, rules *ready.RuleSet) *Operation {
	return &Operation{
		Cluster: c, Rules: rules, format: f,
		engine: &engine.Engine{Cluster: c, Records: f.Record, Rules: f.Rules},
	}
}

// findOwners lets the policy find the owners of objects with the names of their records, now and in
// the run.
func (o *Operation) findOwners(ctx context.Context) {
	if o.Policy.Owner.Others == nil {
		return
	}
	names := owner.Names{Cluster: o.Cluster}
	o.Policy.Owner.Others = others(o.format, func(found owner.Owner, in string) owner.Owner {
		return names.Find(ctx, found, in, o.Policy.RecordNamespace.Name)
	})
}
