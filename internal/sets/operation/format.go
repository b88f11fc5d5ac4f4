package operation

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// Format is what an operation has to know of the format in which the record of a set is kept.
type Format struct {
	policy.Format
	Record     RecordStore
	RecordKind schema.GroupKind // of the object that holds the record
	// Rules judge the objects.
	Rules engine.Rules
	// Definition is that of RecordKind; the zero value for a kind that every cluster has.
	Definition Definition
}

// Definition is what a run does to the definition of the kind of records.
type Definition struct {
	Text string // what Define does, in a sentence; empty for nothing
	// Define makes sure that the cluster can hold the record, and reports whether the plan has to be
	// made again. It may be nil.
	Define func(context.Context) (again bool, err error)
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

// Prepare prepares to apply objects of a set in a format. Their marks are set already, except that
// of plan.Owner. The rules are those by which a user sees the objects that they own.
func (f Format) Prepare(
	c cluster.Writer, desired []plan.Desired, rules *ready.RuleSet, o policy.Options,
) (*Operation, error) {
	op := f.operation(c, rules, o)
	var err error
	if op.Policy, err = o.Policy(f.Format); err != nil {
		return nil, err
	}
	op.Desired, op.Manifests = desired, desired
	if o.AppAnnotations {
		op.versions = policy.NewVersions(desired, &op.Policy, f.Config, o)
	}
	return op, nil
}

// PrepareDestroy prepares to delete all objects of a set in a format.
func (f Format) PrepareDestroy(c cluster.Writer, o policy.Options) (*Operation, error) {
	op := f.operation(c, nil, o) // what is deleted is not judged
	var err error
	op.Policy, err = o.Destroying(f.Format)
	return op, err
}

// operation returns an operation without a policy.
func (f Format) operation(
	c cluster.Writer, rules *ready.RuleSet, o policy.Options,
) *Operation {
	return &Operation{
		Cluster: c, Rules: rules, format: f, options: o,
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
	o.Policy.Owner.Others = o.format.FindOthers(func(found owner.Owner, in string) owner.Owner {
		return names.Find(ctx, found, in, o.Policy.RecordNamespace.Name)
	})
}
