package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// takeOver brings an object that was applied on the client's side over to server-side apply, as kubectl does: what the
// client-side appliers own goes over to the plan's manager, and the object is applied once more, so that fields go which
// were applied then and are not wanted any more.
func takeOver(ctx context.Context, c Cluster, p *plan.Plan, step *plan.Step, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := keepApplied(ctx, c, p, live)
	if err == nil {
		err = upgrade(ctx, c, p, live)
	}
	if err == nil {
		live, err = c.Write(ctx, request(p, step, step.Want, DryRunNone))
	}
	if err != nil {
		return nil, fmt.Errorf("it was applied, but what was applied on the client's side before could not be taken over: %w", err)
	}
	return live, nil
}

// keepApplied has the plan's keeper own the annotation with the applied configuration, so that it stays. The server keeps
// it up to date from then on.
func keepApplied(ctx context.Context, c Cluster, p *plan.Plan, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, ok := live.GetAnnotations()[p.LastApplied]
	if p.Keeper == "" || !ok || diff.KeepsApplied(live, p.LastApplied) {
		return live, nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	kept.SetGroupVersionKind(live.GroupVersionKind())
	kept.SetNamespace(live.GetNamespace())
	kept.SetName(live.GetName())
	kept.SetAnnotations(map[string]string{p.LastApplied: text})
	return c.Write(ctx, cluster.Write{Object: kept, Method: cluster.Apply, UID: live.GetUID(), Manager: p.Keeper})
}

// upgrade moves what the client-side appliers own to the plan's manager. Whoever changes the object meanwhile makes it be
// read again.
func upgrade(ctx context.Context, c Cluster, p *plan.Plan, live *unstructured.Unstructured) error {
	for attempt := 1; ; attempt++ {
		patch, err := diff.Upgrade(live, p.LastApplied, p.Manager)
		if err != nil || len(patch.Data) == 0 {
			return err
		}
		_, err = c.Write(ctx, cluster.Write{
			Object: live, Method: cluster.Patch, PatchType: patch.Type, Patch: patch.Data, Manager: p.Manager,
		})
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		if live, err = again(ctx, c, live); err != nil {
			return err
		}
	}
}

// attempts is how often a write is sent in all that fails because somebody else changed the object meanwhile.
const attempts = 5

// again reads an object anew. It must still be the same.
func again(ctx context.Context, c Cluster, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref := object.RefOf(obj)
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: ref, Version: obj.GroupVersionKind().Version, Owners: true}})
	if err != nil {
		return nil, err
	}
	live := snapshot.Objects[ref]
	if live == nil || live.GetUID() != obj.GetUID() {
		return nil, fmt.Errorf("%s was replaced by another object meanwhile", ref)
	}
	return live, nil
}
