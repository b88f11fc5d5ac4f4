package packages

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// ownerKey is the annotation of the objects of a package, with the ID of its inventory.
const ownerKey = "config.k8s.io/owning-inventory"

// Format returns the format of a package.
func Format(
	c cluster.Writer, inv *inventory.Inventory, rules *ready.RuleSet, statuses bool,
) operation.Format {
	return operation.Format{
		Format: policy.Format{
			Shape: func(p *plan.Policy) {
				p.Owner.Annotation, p.Owner.ID = ownerKey, inv.ID
				p.RecordNamespace = object.Ref{Kind: "Namespace", Name: inv.Ref.Namespace}
				p.LastApplied = resource.AnnKubectlApplied
				p.Owner.Elsewhere = []string{resource.AnnOriginal}
			},
			Owners: func(live, applied *unstructured.Unstructured) []owner.Owner {
				return ownersOf(inv, live, applied)
			},
			Config: config.Default(),
		},
		Record: inventory.NewStore(c, inv, statuses), RecordKind: inv.Ref.GroupKind(), Rules: rules,
	}
}

// Mark returns the annotation of the objects of an inventory, as KEY=VALUE.
func Mark(inv *inventory.Inventory) string { return ownerKey + "=" + inv.ID }

// LockSet returns what is locked while the objects of an inventory are changed.
func LockSet(inv *inventory.Inventory) lock.Set {
	return lock.Set{Namespace: inv.Ref.Namespace, ID: inv.ID, Name: inv.Ref.Name}
}

// PrepareApply prepares to apply a package. It writes nothing to the cluster except the
// ResourceGroup definition, if the options want that at once.
func PrepareApply(
	ctx context.Context, c cluster.Writer, inv *inventory.Inventory, desired []plan.Desired,
	o operation.ApplyOptions,
) (*operation.Operation, error) {
	definition, err := prepareDefinition(ctx, c, inv, o)
	if err != nil {
		return nil, err
	}
	refs := make([]object.Ref, len(desired))
	for i, d := range desired {
		refs[i] = object.RefOf(d.Object)
	}
	rules, err := policy.NewRuleSet(ctx, c, o.Rules, refs)
	if err != nil {
		return nil, err
	}
	if !o.OnlyInventories {
		inv.Advise(o.Notice)
	}
	marked, err := withApplySetLabel(inv, desired)
	if err != nil {
		return nil, err
	}
	var random []string
	if o.AppAnnotations {
		marked, random = policy.WithNonce(marked, o.Now)
	}
	format := Format(c, inv, rules, !o.NoStatuses)
	format.Definition = definition
	op, err := format.Prepare(c, marked, rules, o.Options)
	if err != nil {
		return nil, err
	}
	op.Manifests, op.Random = desired, random
	return op, nil
}

// Prepare prepares to apply the package to a cluster.
func (p *Package) Prepare(
	ctx context.Context, c cluster.Writer, s Scope, o operation.ApplyOptions,
) (*operation.Operation, error) {
	desired, err := p.Resolve(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return PrepareApply(ctx, c, p.Inventory, desired, o)
}

// PrepareDestroy prepares to delete everything that a package deployed.
func PrepareDestroy(
	c cluster.Writer, inv *inventory.Inventory, o operation.DestroyOptions,
) (*operation.Operation, error) {
	if !o.OnlyInventories {
		inv.Advise(o.Notice)
	}
	return Format(c, inv, nil, !o.NoStatuses).PrepareDestroy(c, o.Options)
}

// NoteTaken prints the objects of apps, Helm and others that a plan changes or deletes because it
// recognizes no owners but packages.
func NoteTaken(
	ctx context.Context, c cluster.Reader, inv *inventory.Inventory, p *plan.Plan,
	notice func(string),
) {
	names := owner.Names{Cluster: c}
	for _, step := range p.Steps {
		if step.Have == nil || step.Op != plan.Update && step.Op != plan.Delete {
			continue
		}
		found := slices.DeleteFunc(ownersOf(inv, step.Have, step.Want),
			func(o owner.Owner) bool { return o.Kind == owner.Package })
		found = names.FindAll(ctx, found, step.Ref.Namespace)
		if len(found) == 0 {
			continue
		}
		done := "takes it over"
		if step.Op == plan.Delete {
			done = "deletes it"
		}
		notice(step.Ref.Short() + " belongs to " + owner.Text(found) + "; this " + done)
	}
}
