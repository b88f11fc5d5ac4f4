package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// migrateToServerSide migrates an object from client-side to server-side apply, as kubectl does:
// the fields of client-side appliers move to the manager of the plan, and the object is applied
// again, so that fields which are no longer desired are removed. Live is the object after the
// first apply; it is also returned with an error.
func migrateToServerSide(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	managers := clientSideManagers(p, step, live)
	taken, err := keepApplied(ctx, c, p, live)
	if err == nil {
		err = upgrade(ctx, c, p, taken, managers)
	}
	if err == nil {
		again := request(p, step, step.Want, &Options{DryRun: DryRunNone})
		again.Version = "" // of before the first apply
		if taken, err = c.Write(ctx, again); err == nil {
			before := *step
			before.Have = live
			taken, err = restoreEmpty(ctx, c, p, &before, taken, &Options{DryRun: DryRunNone})
		}
	}
	if err != nil {
		return live, fmt.Errorf(
			"it was applied, but what was applied on the client's side before could not be taken over: %w",
			err,
		)
	}
	return taken, nil
}

// adoptsUpdates reports whether the manager of the plan becomes the applier of the fields of a live
// object that it owns by updates, and of those that were applied client-side, before it applies the
// object.
func adoptsUpdates(p *plan.Plan, step *plan.Step) bool {
	return p.Preconditions || p.Keeper != nil && p.Owner.Owns(step.Have) || migrates(p, step)
}

// migrates reports whether a server-side apply takes over what was applied to the live object of a
// step in another way. As kubectl, kpt live does so after the apply: see migrateToServerSide.
func migrates(p *plan.Plan, step *plan.Step) bool {
	return !p.OnlyClientSide && p.LastApplied != "" &&
		(step.Released != nil || diff.ClientSideManagers(step.Have, p.LastApplied).Len() > 0)
}

// adoptUpdates makes the manager of the plan the applier of the fields that it owns by updates,
// of those that client-side appliers own, and of those that the apply is to remove, and returns the
// step with the object after that. What was applied last stays on the object until the apply has
// removed these: a run that is killed before leaves nothing that the next one overlooks.
func adoptUpdates(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
) (*plan.Step, error) {
	managers, next := sets.New(p.Manager), *step
	if migrates(p, step) {
		managers = managers.Union(diff.ClientSideManagers(step.Have, p.LastApplied))
	}
	if p.ServerSide && migrates(p, step) { // else the annotation does not fit any more
		var err error
		if next.Have, err = keepApplied(ctx, c, p, step.Have); err != nil {
			return nil, err
		}
	}
	patch, err := diff.TakeOverPatch(next.Have, managers, p.Manager, step.Released)
	if err != nil || len(patch.Data) == 0 {
		return &next, err
	}
	next.Have, err = c.Write(ctx, cluster.Write{
		Object: next.Have, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data,
		Manager: p.Manager,
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// keepApplier makes the manager of the plan the applier of the fields that it has just put back, as
// far as the set describes them, if it is the applier of the object: its next apply would conflict
// with its own update. It returns the object after that, also with an error.
func keepApplier(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if p.LastApplied != "" && diff.ClientSideManagers(live, p.LastApplied).Has(p.Manager) {
		return live, nil // its next apply is client-side
	}
	for attempt := 1; diff.IsApplier(live, p.Manager); attempt++ {
		patch, err := diff.RestoredPatch(live, step.Described, p.Manager)
		if err != nil || len(patch.Data) == 0 {
			return live, err
		}
		taken, err := c.Write(ctx, cluster.Write{
			Object: live, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data,
			Manager: p.Manager,
		})
		if err == nil {
			return taken, nil
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return live, fmt.Errorf("it was updated, but the next apply may conflict with that: %w", err)
		}
		reread, err := rereadSame(ctx, c, live, err)
		if err != nil {
			return live, err
		}
		live = reread
	}
	return live, nil
}

// keepApplied moves the last applied configuration to the manager that keeps it on objects that
// migrate.
func keepApplied(
	ctx context.Context, c cluster.Writer, p *plan.Plan, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	text, ok := object.AnnotationsOf(live).Lookup(p.LastApplied)
	if p.LastAppliedManager == "" || !ok || diff.IsAnnotationApplied(live, p.LastApplied) {
		return live, nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	kept.SetGroupVersionKind(live.GroupVersionKind())
	kept.SetNamespace(live.GetNamespace())
	kept.SetName(live.GetName())
	kept.SetAnnotations(map[string]string{p.LastApplied: text})
	return c.Write(
		ctx,
		cluster.Write{
			Object:  kept,
			Method:  cluster.Apply,
			UID:     live.GetUID(),
			Manager: p.LastAppliedManager,
		},
	)
}

// upgrade moves the fields of client-side appliers to the manager of the plan. After a conflict it
// reads the object again.
func upgrade(
	ctx context.Context, c cluster.Writer, p *plan.Plan, live *unstructured.Unstructured,
	managers sets.Set[string],
) error {
	for attempt := 1; ; attempt++ {
		patch, err := diff.UpgradePatch(live, managers, p.Manager)
		if err != nil || len(patch.Data) == 0 {
			return err
		}
		_, err = c.Write(ctx, cluster.Write{
			Object: live, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data,
			Manager: p.Manager,
		})
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		if live, err = rereadSame(ctx, c, live, err); err != nil {
			return err
		}
	}
}
