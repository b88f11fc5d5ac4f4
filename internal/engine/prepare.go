package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// prepare sends the requests that a step needs before its own one, and returns the step with the
// object after them.
func prepare(
	ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, o *Options,
) (next *plan.Step, err error) {
	applies := step.ServerSide && step.Have != nil && len(step.Patch.Data) == 0
	if applies && p.Preconditions {
		if step, err = adoptUpdates(ctx, c, p, step); err != nil {
			return nil, err
		}
	}
	clears := applies && len(step.Obstacles) > 0
	if clears || len(step.Disown.Data) > 0 {
		err = try(ctx, c, p, step, o)
	}
	if err == nil && len(step.Disown.Data) > 0 {
		step, err = disown(ctx, c, p, step)
	}
	if err == nil && clears {
		step, err = claimObstacles(ctx, c, p, step)
	}
	return step, err
}

// try returns the error of a write that the server would refuse, before the requests that prepare
// it: these would remain. A webhook may refuse dry runs, which says nothing about the write.
func try(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, o *Options) error {
	trial := *o
	trial.DryRun = DryRunServer
	_, err := write(ctx, c, p, step, &trial)
	if apierrors.IsBadRequest(err) && !cluster.Unreadable(err) {
		return nil
	}
	return err
}

// disown removes what no apply removes, as the marks of former owners, and returns the step with
// the object after that.
func disown(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step) (*plan.Step, error) {
	unmarked, err := c.Write(ctx, cluster.Write{
		Object: step.Have, Method: cluster.Patch, PatchType: step.Disown.Type,
		Patch: step.Disown.Data, Manager: p.Manager, UID: step.Have.GetUID(),
		Version: step.Have.GetResourceVersion(),
	})
	if err != nil {
		return nil, err
	}
	next := *step
	next.Have, next.Disown = unmarked, diff.Patch{}
	return &next, nil
}
