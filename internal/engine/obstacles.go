package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// claimObstacles makes the manager of the plan the only applier of what is in the way of a
// server-side apply, which removes it then, and returns the step with the object after that. It
// changes no value of the object.
func claimObstacles(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
) (*plan.Step, error) {
	patch, err := diff.ClaimPatch(step.Have, step.Obstacles, p.Manager)
	if err != nil {
		return nil, err
	}
	claimed, err := c.Write(ctx, cluster.Write{
		Object: step.Have, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data,
		Manager: p.Manager,
	})
	if err != nil {
		return nil, err
	}
	next := *step
	next.Have, next.Obstacles = claimed, nil
	return &next, nil
}

// mustClear reports whether a run changes the live object before a server-side apply, which the
// server would refuse otherwise.
func mustClear(p *plan.Plan, step *plan.Step) bool {
	if len(step.Obstacles) > 0 || step.Have == nil {
		return len(step.Obstacles) > 0
	}
	empties, err := diff.EmptyMaps(step.Want, step.Have, applier(p, step))
	return err == nil && len(empties.Data) > 0
}

// tryCleared sends a dry run of a server-side apply to an object without what is in its way. The
// server cannot do both in one dry run, so that it gets the result as a patch.
func tryCleared(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) (live *unstructured.Unstructured, err error) {
	trial := *step
	trial.Patch, err = diff.ApplyResult(step.Want, step.Have, step.Obstacles, applier(p, step))
	if err != nil {
		return nil, err
	}
	return c.Write(ctx, request(p, &trial, step.Want, o))
}
