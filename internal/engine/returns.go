package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// redone is the end of the deletion of a remnant.
type redone struct {
	remnant *unstructured.Unstructured
	foreign bool // somebody else has created it: it stays
	err     error
}

// mayReturn reports whether a deleted object is waited for further, since its controller may create
// it once more: for a moment after it was seen to be gone. What the controller has created is
// deleted. Dependents of the step may start as soon as the object is gone for the first time.
func (r *run) mayReturn(ctx context.Context, i int, gone, replaced bool) bool {
	t := &r.tracks[i]
	switch {
	case gone:
		r.schedule.release(i)
		return r.mayReappear(i)
	case !replaced || t.seen.object == nil || !plan.MayBeRemnant(t.seen.object):
		return false
	case !t.redeletes && !r.interrupted && !r.ended:
		r.schedule.release(i)
		r.redelete(ctx, i)
	}
	return true
}

// redelete starts the deletion of what a controller has created in place of a deleted object. It
// reads it first, since its managed fields say who has created it.
func (r *run) redelete(ctx context.Context, i int) {
	step, remnant := r.plan.Steps[i], r.tracks[i].seen.object
	step.Have, r.tracks[i].redeletes = remnant, true
	r.inFlight++
	// The loop waits for this goroutine, as for that of a write.
	go func() {
		defer crash.Catch(ctx)
		ctx := context.WithoutCancel(ctx)
		done := &redone{remnant: remnant}
		live, err := reread(ctx, r.engine.Cluster, remnant, nil)
		switch {
		case err != nil:
			done.err = err
		case live == nil || live.GetUID() != remnant.GetUID(): // its watch reports the present one
		case !plan.IsRemnant(live):
			done.foreign = true
		default:
			_, done.err = r.engine.Cluster.Delete(ctx,
				deletion(&step, r.plan.Propagation, r.options.DryRun))
		}
		r.messages <- message{step: i, redone: done}
	}()
}

// endRedeletion handles the end of the deletion of a remnant: its watch reports when it is gone.
func (r *run) endRedeletion(ctx context.Context, i int, done *redone) {
	t := &r.tracks[i]
	t.redeletes = false
	changed := apierrors.IsConflict(done.err) || apierrors.IsNotFound(done.err)
	switch {
	case !t.waiting:
	case done.foreign:
		r.settle(i, event.Succeeded, nil)
	case done.err != nil && !changed:
		r.settle(i, event.Failed, fmt.Errorf("its controller created it once more after its deletion, "+
			"and that could not be deleted: %w", cluster.Redact(done.err, false)))
	case changed && t.seen.version != done.remnant.GetResourceVersion():
		r.judge(ctx, i)
	}
}
