package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// apiServiceKind is the kind that some servers fail to merge: they break the connection instead of answering.
var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// write sends the object of a step, in as many requests as its way of applying needs. An object that comes with an error was
// stored before that.
func write(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, dryRun DryRun) (*unstructured.Unstructured, error) {
	if !p.ServerSide {
		return writeMerged(ctx, c, p, step, dryRun)
	}
	live, err := c.Write(ctx, request(p, step, step.Want, dryRun))
	switch {
	case step.Ref.GroupKind() == apiServiceKind && cluster.BrokenStream(err):
		return writeInstead(ctx, c, p, step, dryRun)
	case err != nil || p.LastApplied == "" || diff.ClientAppliers(live, p.LastApplied).Len() == 0:
		return live, err
	case dryRun != DryRunNone:
		return p.TakenOver(step, live) // the server could not say it without having taken the first step
	default:
		return takeOver(ctx, c, p, step, live)
	}
}

// writeMerged sends what client-side apply computed. Where the server gave up because others kept changing the object, it
// is merged anew with what the object is now.
func writeMerged(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, dryRun DryRun) (*unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		stored, err := c.Write(ctx, request(p, step, step.Want, dryRun))
		if !apierrors.IsConflict(err) || step.Op != plan.Update || attempt == attempts {
			return stored, err
		}
		live, err := again(ctx, c, step.Have)
		if err != nil {
			return nil, err
		}
		if step, err = p.Merged(step, live); err != nil {
			return nil, err
		}
		if step.Op == plan.Unchanged {
			return live, nil
		}
	}
}

// writeInstead applies an object on the client's side that the server could not merge.
func writeInstead(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, dryRun DryRun) (*unstructured.Unstructured, error) {
	merged, err := p.Merged(step, step.Have)
	if err != nil {
		return nil, err
	}
	if merged.Op == plan.Unchanged {
		return step.Have, nil
	}
	w := request(p, merged, merged.Want, dryRun)
	if merged.Op == plan.Create {
		w.Method = cluster.Create
	}
	return c.Write(ctx, w)
}
