package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// apiServiceKind is the kind that some servers fail to merge: they break the connection instead of
// answering.
var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// attempts is how often a write is sent that fails because others change the object at the same
// time.
const attempts = 10

// apply creates or updates the object of a step, and returns the step as it was applied: where the
// object is not as it was when the plan was made, the decision is made again. An object that comes
// with an error was stored before that.
func apply(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) (*plan.Step, *unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		if !step.Op.Writes() {
			return step, nil, nil // this is what was decided about the present object
		}
		if err := cmp.Or(p.Conflict(step), checkPreconditions(p, step)); err != nil {
			return step, nil, err
		}
		stored, refused := write(ctx, c, p, step, o)
		if next, ok := p.TakeOver(step, conflicts(refused)); ok {
			step = next
			stored, refused = write(ctx, c, p, step, o)
		}
		if stored == nil && apierrors.IsInvalid(refused) {
			next, why := exclude(ctx, c, p, step, refused)
			if next != nil {
				step = next
				continue
			}
			refused = why
		}
		if stored != nil || !overtaken(step, refused) {
			return step, stored, refused
		}
		if attempt == attempts {
			return step, nil, &ContestedError{attempt, cluster.Redact(refused, step.HoldsSecret())}
		}
		live, err := reread(ctx, c, step.Want, refused)
		if err == nil && live == nil && step.Have == nil {
			continue // the object that was in the way is gone
		}
		if err == nil && inTheWay(step, live) {
			return step, nil, &BeingDeletedError{live: live}
		}
		var next *plan.Step
		if err == nil {
			next, err = replan(p, step, live, refused, o)
		}
		if err != nil {
			return step, nil, err
		}
		if step = next; isLeaving(p, step, live) {
			return step, nil, &BeingDeletedError{live: live}
		}
	}
}

// checkPreconditions returns an error if the server would take metadata of a manifest, which kpt
// live keeps, for a precondition that does not hold. Sent again, it would be refused again.
func checkPreconditions(p *plan.Plan, step *plan.Step) error {
	if !step.ServerSide || p.Preconditions || len(step.Patch.Data) > 0 || step.Op == plan.Orphan {
		return nil
	}
	uid, version := step.Want.GetUID(), step.Want.GetResourceVersion()
	switch have := step.Have; {
	case have == nil && uid != "", have != nil && uid != "" && uid != have.GetUID():
		return &PreconditionError{"uid"}
	case have != nil && version != "" && version != have.GetResourceVersion():
		return &PreconditionError{"resourceVersion"}
	}
	return nil
}

// replan returns the step for an object that is not as it was when the plan was made; a live object
// of nil is gone. Refused is the answer to the write, nil if there was none.
func replan(
	p *plan.Plan, step *plan.Step, live *unstructured.Unstructured, refused error, o *Options,
) (*plan.Step, error) {
	if holder, ok := o.deleted.of(step.Ref); ok && live == nil && !step.Op.Removes() {
		return recreateHeld(p, step, holder)
	}
	if step.Permit != nil && live != nil {
		if err := step.Permit(live); err != nil {
			return nil, err
		}
	}
	switch {
	case step.Reverts != nil && live != nil && live.GetUID() == step.Have.GetUID():
		return step.Reverts(live)
	case p.Decider != nil && (live != nil || refused != nil) && step.Reverts == nil:
		return p.Decider.Replan(step, live, refused)
	case live == nil:
		return nil, &vanishedError{refused}
	case step.Have != nil && live.GetUID() != step.Have.GetUID() && !step.Op.Removes():
		return nil, errReplaced
	default:
		return p.Replan(step, live)
	}
}

// overtaken reports whether a write was refused because the object has changed since the plan was
// made.
func overtaken(step *plan.Step, err error) bool {
	// The same fields would conflict again.
	ofFields := apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
	changed := apierrors.IsConflict(err) && !ofFields
	if step.Have == nil {
		return apierrors.IsAlreadyExists(err) || changed && step.ServerSide
	}
	return apierrors.IsNotFound(err) || changed
}

// conflicts returns the fields over which a server-side apply failed.
func conflicts(err error) (fields []string) {
	for _, cause := range diff.Conflicts(err) {
		fields = append(fields, cause.Field)
	}
	return fields
}

// reread returns the present state of an object, nil if it does not exist. If the server does not
// serve its kind, the error is the one that refused the write.
func reread(
	ctx context.Context, c cluster.Writer, obj *unstructured.Unstructured, refused error,
) (*unstructured.Unstructured, error) {
	ref := object.RefOf(obj)
	snapshot, err := c.Read(ctx,
		[]cluster.Target{{Ref: ref, Version: obj.GroupVersionKind().Version, ManagedFields: true}})
	if err != nil {
		return nil, err
	}
	if snapshot.Unserved.Has(ref) {
		return nil, refused
	}
	return snapshot.Objects[ref], nil
}

// rereadSame returns the present state of an object, which must exist and be the same one as
// before.
func rereadSame(
	ctx context.Context, c cluster.Writer, before *unstructured.Unstructured, refused error,
) (*unstructured.Unstructured, error) {
	live, err := reread(ctx, c, before, refused)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		return nil, &vanishedError{refused}
	case live.GetUID() != before.GetUID():
		return nil, errReplaced
	default:
		return live, nil
	}
}

// errReplaced is the error of a step whose object was deleted and created by others.
var errReplaced = errors.New("it was replaced by another object meanwhile")

// vanishedError says that somebody deleted an object after it was read.
type vanishedError struct{ cause error }

func (e *vanishedError) Error() string {
	return "it was deleted by somebody else meanwhile; apply once more to create it"
}

// Unwrap returns the answer of the server.
func (e *vanishedError) Unwrap() error { return e.cause }

// write sends the object of a step, in as many requests as its way of applying needs. As to the
// result, see apply.
func write(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) (*unstructured.Unstructured, error) {
	if o.DryRun == DryRunNone {
		var err error
		if step, err = prepare(ctx, c, p, step, o); err != nil {
			return nil, err
		}
	}
	w := request(p, step, step.Want, o)
	w.StreamOnce = step.ServerSide && step.Ref.GroupKind() == apiServiceKind
	clears := w.Method == cluster.Apply && o.DryRun != DryRunNone && mustClear(p, step)
	live, err := c.Write(ctx, w)
	if err == nil && w.Method == cluster.Apply && o.DryRun == DryRunNone {
		live, err = restoreEmpty(ctx, c, p, step, live, o)
	}
	if o.DryRun != DryRunNone && w.Method == cluster.Apply && p.OwnsAll(step, conflicts(err)) {
		w.Force = true // the run adopts its own updates before
		live, err = c.Write(ctx, w)
	}
	if err == nil && w.Method == cluster.Apply && o.DryRun != DryRunNone && step.Have != nil {
		live = diff.WithLostEmpty(step.Want, step.Have, live) // as restoreEmpty does
	}
	if clears && (err == nil || apierrors.IsInvalid(err)) {
		live, err = tryCleared(ctx, c, p, step, o)
	}
	if err == nil && o.DryRun != DryRunNone && len(step.Disown.Data) > 0 {
		live, err = step.Disown.Merged(live)
	}
	switch {
	case step.Reverts != nil && err == nil && o.DryRun == DryRunNone:
		return keepApplier(ctx, c, p, step, live)
	case !step.ServerSide || step.Reverts != nil:
		return live, err
	case w.StreamOnce && cluster.BrokenStream(err):
		return writeInstead(ctx, c, p, step, o)
	case err != nil:
		return live, err
	case step.Have == nil:
		return live, nil
	case o.DryRun != DryRunNone && (adoptsUpdates(p, step) || step.Released != nil ||
		clientSideManagers(p, step, live).Len() > 0):
		// The server could not say it without having taken the first step.
		return p.MigrationResult(step, live, applier(p, step))
	case clientSideManagers(p, step, live).Len() == 0:
		return live, nil
	default:
		return migrateToServerSide(ctx, c, p, step, live)
	}
}

// restoreEmpty applies an object once more if the server has removed maps or lists that it must
// have, with their content. It returns the object after that, or before that with an error after
// which the write is not tried again.
func restoreEmpty(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	live *unstructured.Unstructured, o *Options,
) (*unstructured.Unstructured, error) {
	if step.Have == nil || !diff.LostEmpty(step.Want, step.Have, live) {
		return live, nil
	}
	again := *step
	again.Have = live
	restored, err := c.Write(ctx, request(p, &again, step.Want, o))
	if err != nil && !overtaken(&again, err) {
		return live, fmt.Errorf("it was applied, but empty maps or lists could not be set: %w", err)
	}
	return restored, err
}

// clientSideManagers returns the managers that a server-side apply replaces. The object of before
// the apply names them if the server has removed the annotation of client-side apply, which has
// become too large, or if the apply itself sets it. A run has made its manager an applier by then.
func clientSideManagers(
	p *plan.Plan, step *plan.Step, live *unstructured.Unstructured,
) sets.Set[string] {
	if p.LastApplied == "" {
		return nil
	}
	managers := diff.ClientSideManagers(live, p.LastApplied)
	_, has := object.AnnotationsOf(live).Lookup(p.LastApplied)
	if step.Have != nil && (!has || p.Keeper != nil && p.Owner.Owns(step.Have)) {
		managers = diff.ClientSideManagers(step.Have, p.LastApplied)
	}
	return managers
}

// writeInstead applies an object on the client's side that the server could not merge.
func writeInstead(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) (*unstructured.Unstructured, error) {
	merged, err := p.ReplanClientSide(step, step.Have)
	if err != nil {
		return nil, err
	}
	if merged.Op == plan.Unchanged {
		return step.Have, nil
	}
	w := request(p, merged, merged.Want, o)
	if merged.Op == plan.Create {
		w.Method = cluster.Create
	}
	return c.Write(ctx, w)
}
