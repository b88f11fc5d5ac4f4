package engine

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// prepare sends the requests that a step needs before its own one, and returns the step with the
// object after them.
func prepare(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) (next *plan.Step, err error) {
	applies := step.ServerSide && step.Have != nil && len(step.Patch.Data) == 0
	if applies && len(step.Handover.Data) > 0 {
		if step, err = patched(ctx, c, p, step, step.Handover); err != nil {
			return nil, err
		}
		step.Handover = diff.Patch{}
	}
	if applies && adoptsUpdates(p, step) {
		if step, err = adoptUpdates(ctx, c, p, step); err != nil {
			return nil, err
		}
	}
	var empties diff.Patch
	if applies {
		if empties, err = diff.EmptyMaps(step.Want, step.Have, applier(p, step)); err != nil {
			return nil, err
		}
	}
	clears := applies && len(step.Obstacles) > 0
	if clears || len(step.Disown.Data)+len(empties.Data) > 0 {
		err = try(ctx, c, p, step, o)
	}
	if err == nil && len(empties.Data) > 0 {
		step, err = patched(ctx, c, p, step, empties)
	}
	if err == nil && len(step.Disown.Data) > 0 {
		if step, err = patched(ctx, c, p, step, step.Disown); err == nil {
			step.Disown = diff.Patch{}
		}
	}
	if err == nil && clears {
		step, err = claimObstacles(ctx, c, p, step)
	}
	return step, err
}

// try returns the error of a write that the server would refuse, before the requests that prepare
// it: these would remain. A webhook may refuse dry runs, and a result may be unknown that only dry
// runs compute, which says nothing about the write.
func try(ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options) error {
	trial := *o
	trial.DryRun = DryRunServer
	_, err := write(ctx, c, p, step, &trial)
	unmerged := (*diff.MergeError)(nil)
	if apierrors.IsBadRequest(err) && !cluster.Unreadable(err) || errors.As(err, &unmerged) {
		return nil
	}
	return err
}

// patched sends a patch that prepares a server-side apply: it removes what no apply removes, as the
// marks of former owners, or what one removes together with its map. It returns a copy of the step
// with the object after that.
func patched(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, patch diff.Patch,
) (*plan.Step, error) {
	live, err := c.Write(ctx, cluster.Write{
		Object: step.Have, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data,
		Manager: p.Manager, UID: step.Have.GetUID(), Version: step.Have.GetResourceVersion(),
	})
	if err != nil {
		return nil, err
	}
	next := *step
	next.Have = live
	return &next, nil
}

// applier returns whose fields of a live object the server-side apply of a step replaces.
func applier(p *plan.Plan, step *plan.Step) diff.Applier {
	return diff.Applier{
		Manager: p.Manager, Updates: adoptsUpdates(p, step), LastApplied: p.LastApplied,
	}
}
