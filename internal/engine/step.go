package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// result is the end of a step's write.
type result struct {
	op      plan.Op // what was really done
	outcome event.Outcome
	reason  string
	code    plan.ReasonCode // of the reason
	err     error
	seen    cluster.ObjectEvent        // the object afterwards
	leaving bool                       // its deletion was asked for
	ended   bool                       // nothing is to be waited for
	stored  bool                       // although it failed, a part of it was carried out
	deleted bool                       // to be recreated; what fails after that has not created it
	would   *unstructured.Unstructured // in a server dry run: the object as it would have been stored
	// in a dry run: the object has to be deleted and created again
	recreates bool
	unstored  []string // paths of the values that the server does not store
	// what the server published before of the kinds of a definition; empty if nothing depends on it
	published string

	pause pause      // the step is not finished, and continues later
	rest  *plan.Step // and what remains to be done then; nil is all
}

// mustWrite reports whether the step sends a request in this run.
func (r *run) mustWrite(step *plan.Step) bool {
	switch {
	case r.options.DryRun == DryRunNone && step.Draft != nil:
		return true // or nothing: that turns out when it is completed
	case step.Op == plan.AwaitCreated:
		return r.options.DryRun == DryRunNone && step.Have == nil // or looks whether it is there
	case r.mustConfirm(step):
		return true
	case r.options.DryRun == DryRunClient || !step.Op.Writes() || step.AlreadyDeleting():
		return false
	case step.Op == plan.Orphan:
		return len(step.Patch.Data) > 0
	case r.missingPrerequisite(step) != nil:
		return isNamespaceStep(r.missingPrerequisite(step))
	default:
		return true
	}
}

// withoutWriting returns the result of a step that sends nothing.
func (r *run) withoutWriting(step *plan.Step) *result {
	switch step.Op {
	case plan.Skip, plan.Keep, plan.Orphan:
		return skippedResult(step)
	default:
		if err := r.plan.Conflict(step); err != nil {
			return &result{op: step.Op, outcome: event.Failed, err: err}
		}
		if r.options.DryRun != DryRunNone && replaces(step, plan.ReplaceAlways) {
			return wouldRecreate(r.plan, step, nil)
		}
		if isLeaving(r.plan, step, step.Have) {
			if paused := awaitGone(r.plan, step, step.Have, &r.options); paused != nil {
				return paused
			}
		}
		done := &result{
			op:      step.Op,
			outcome: event.Succeeded,
			reason:  step.Reason,
			leaving: step.AlreadyDeleting() || step.Op == plan.AwaitDeleted,
			ended:   step.ReasonCode == plan.ReasonCompleted,
		}
		if home := r.missingPrerequisite(step); home != nil {
			done.reason = unvalidated(home)
		}
		if step.Leaving != nil {
			done.reason, done.code = step.Reason, step.ReasonCode
		}
		if step.BeingDeleted() {
			done.reason = beingDeletedReason
		}
		if step.Have != nil {
			done.seen.Object = step.Have
		}
		return done
	}
}

// beingDeleted is said of an object that is wanted although somebody is deleting it: it is written,
// and will be gone.
const beingDeletedReason = "it is being deleted"

// skippedResult returns the result of a step that leaves its object alone.
func skippedResult(step *plan.Step) *result {
	return &result{
		op: step.Op, outcome: event.Skipped, reason: step.Reason, code: step.ReasonCode,
	}
}

// act sends what the step decided.
func act(ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options) *result {
	if step.HoldsSecret() {
		ctx = cluster.Private(ctx)
	}
	switch step.Op {
	case plan.Delete, plan.Orphan, plan.Keep:
		return remove(ctx, c, p, step, o)
	default:
		return applyStep(ctx, c, p, step, o)
	}
}

func applyStep(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) *result {
	if replaces(step, plan.ReplaceAlways) {
		return replace(ctx, c, p, step, nil, o)
	}
	carried, live, err := apply(ctx, c, p, step, o)
	if live == nil && carried.Replace != plan.ReplaceInvalid {
		carried, err = explainInvalid(ctx, c, p, carried, err, o)
	}
	immutable, leaving := (*ImmutableError)(nil), (*BeingDeletedError)(nil)
	switch {
	case errors.As(err, &leaving):
		if paused := awaitGone(p, carried, leaving.live, o); paused != nil {
			return paused
		}
		return &result{op: step.Op, outcome: event.Failed, err: err}
	case errors.As(err, &immutable):
		return recreate(ctx, c, p, carried, immutable, o)
	case apierrors.IsInvalid(err) && live == nil && replaces(carried, plan.ReplaceInvalid):
		return replace(ctx, c, p, carried, err, o)
	case step.Releases && apierrors.IsNotFound(err):
		return &result{op: step.Op, outcome: event.Succeeded}
	case err != nil:
		err = explainUndeclared(p, step, err)
		return &result{op: step.Op, outcome: event.Failed, err: err, stored: live != nil}
	case carried.Op == plan.Skip && isPrerequisite(step.Ref):
		// The plan for its dependents would be another one with the present object.
		err := fmt.Errorf("somebody else created it meanwhile: %s; apply once more", carried.Reason)
		return &result{op: step.Op, outcome: event.Failed, err: err}
	case carried.Op == plan.Skip:
		return skippedResult(carried)
	case carried.Op == plan.Unchanged:
		return &result{
			op:      plan.Unchanged,
			outcome: event.Succeeded,
			reason:  cmp.Or(writeReason(carried.Have), carried.Reason),
			seen:    cluster.ObjectEvent{Object: carried.Have},
		}
	}
	if o.DryRun == DryRunServer {
		live = diff.Converted(live, carried.Have, p.Manager, p.LastApplied)
	}
	lost := unstored(p, carried, live)
	if lacks := o.checkServed(ctx, c, carried, lost); lacks != nil {
		return resend(p, carried, live, lacks)
	}
	kept := keptBy(p, carried, live)
	if again := recreateKept(ctx, c, p, carried, live, kept, o); again != nil {
		return again
	}
	done := amended(ctx, c, p, carried, live, o)
	if done.unstored = lost; done.err != nil {
		return done
	}
	live = done.seen.Object
	if o.DryRun == DryRunNone && isLeaving(p, carried, live) {
		if paused := awaitGone(p, carried, live, o); paused != nil {
			paused.stored = true
			return paused
		}
	}
	carried = clearLeaving(carried)
	done.reason = cmp.Or(writeReason(live), carried.Reason, kept.reason(p, carried))
	if o.DryRun == DryRunServer {
		done.would = live
	}
	switch have := carried.Have; {
	case have == nil:
	case o.DryRun == DryRunNone && live.GetResourceVersion() == have.GetResourceVersion(),
		unaltered(p, carried, live), len(lost) > 0 && sameContent(live, have):
		done.op = plan.Unchanged
	}
	return done
}

// sameContent reports whether two states of an object differ at most in who owns its fields, and in
// the generation: a value that the server drops changes the time of its owner and, if a conversion
// drops it, the generation.
func sameContent(a, b *unstructured.Unstructured) bool {
	drop := func(metadata map[string]any) {
		delete(metadata, "resourceVersion")
		delete(metadata, "generation")
	}
	return reflect.DeepEqual(reheaded(a, drop).Object, reheaded(b, drop).Object)
}

// writeReason returns the reason of an object that was written although it is being deleted.
func writeReason(live *unstructured.Unstructured) string {
	if live.GetDeletionTimestamp() != nil {
		return beingDeletedReason
	}
	return ""
}

// noVersion is a resource version that no object has: etcd counts from 1, before its first write.
// An apply with it creates an object, and conflicts with one that exists.
const noVersion = "1"

// request returns the write of a step: server-side apply if it says so, else the patch that the
// plan has. A decider creates objects by a plain create, whose error says that an object exists.
func request(
	p *plan.Plan, step *plan.Step, obj *unstructured.Unstructured, o *Options,
) cluster.Write {
	w := cluster.Write{
		Object:  obj,
		Method:  cluster.Create,
		Manager: p.Manager,
		Force:   p.Force || step.Force,
		DryRun:  o.DryRun == DryRunServer,

		FieldValidation: o.validation(obj),
	}
	if step.Have != nil {
		w.UID = step.Have.GetUID()
		if o.DryRun == DryRunNone { // a preview may be of any version
			w.Version = step.Have.GetResourceVersion()
		}
	}
	switch {
	case len(step.Patch.Data) > 0:
		w.Method, w.PatchType, w.Patch = cluster.Patch, step.Patch.Type, step.Patch.Data
	case step.FullReplace && step.Have != nil:
		w.Method = cluster.Replace
		w.Object = withPreconditions(diff.WithoutUnstoredMaps(obj), step.Have)
	case step.ServerSide && p.Preconditions && step.Have != nil:
		w.Method, w.Object = cluster.Apply, withPreconditions(obj, step.Have)
	case step.ServerSide && (!p.Preconditions || p.Decider == nil) &&
		(step.Leaving == nil || o.DryRun == DryRunNone):
		w.Method = cluster.Apply
		if step.Have == nil && o.DryRun == DryRunNone {
			w.Version = noVersion
		}
	}
	return w
}

// remove removes an object from the set: it deletes it, or leaves it in the cluster. Where the
// object is not as it was when the plan was made, the decision is made again.
func remove(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) *result {
	for attempt := 1; ; attempt++ {
		done := removeOnce(ctx, c, p, step, o)
		if !apierrors.IsConflict(done.err) {
			return done
		}
		if attempt == attempts {
			done.err = &ContestedError{attempt, cluster.Redact(done.err, step.HoldsSecret())}
			return done
		}
		live, err := reread(ctx, c, step.Have, done.err)
		if err == nil && live == nil {
			return &result{op: step.Op, outcome: event.Succeeded, reason: step.Reason, leaving: true}
		}
		next := step
		if err == nil {
			next, err = replan(p, step, live, done.err, o)
		}
		if err != nil {
			done.err = err
			return done
		}
		if next.Op == plan.Delete && live.GetUID() != step.Have.GetUID() {
			done.err = errReplaced
			return done
		}
		if step = next; step.AlreadyDeleting() { // others delete it, too
			return &result{
				op: step.Op, outcome: event.Succeeded, reason: step.Reason,
				seen: cluster.ObjectEvent{Object: live}, leaving: true,
			}
		}
	}
}

// removeOnce carries out a removal if the object is still as the step has it. Otherwise the error
// of the result is a conflict.
func removeOnce(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, o *Options,
) *result {
	done := skippedResult(step)
	var err error
	switch {
	case step.Op == plan.Delete:
		done.outcome, done.code, done.leaving = event.Succeeded, "", true
		done.seen.Object = step.Have
		var gone bool
		if gone, err = c.Delete(ctx, deletion(step, propagation(p, step), o.DryRun)); gone {
			done.seen = cluster.ObjectEvent{Version: step.Have.GetResourceVersion()}
		}
	case len(step.Patch.Data) > 0:
		if _, err = c.Write(ctx, request(p, step, step.Have, o)); apierrors.IsNotFound(err) {
			err = nil
		}
	}
	if err != nil {
		return &result{op: step.Op, outcome: event.Failed, err: err}
	}
	return done
}

// propagation returns the propagation policy of the deletion of a step. If the plan awaits pods, a
// workload that is waited for is deleted in the foreground: it is gone as soon as its pods are.
func propagation(p *plan.Plan, step *plan.Step) metav1.DeletionPropagation {
	if p.AwaitPods && step.Wait && p.Propagation == metav1.DeletePropagationBackground &&
		ready.RunsPods(step.Ref.GroupKind()) {
		return metav1.DeletePropagationForeground
	}
	return p.Propagation
}

// deletion returns the request that deletes the object of a step if it is still as the step has it.
func deletion(
	step *plan.Step, propagation metav1.DeletionPropagation, dryRun DryRun,
) cluster.Delete {
	return cluster.Delete{
		Ref: step.Ref, UID: step.Have.GetUID(), Version: step.Have.GetResourceVersion(),
		Propagation: propagation, DryRun: dryRun == DryRunServer,
	}
}

// actBeforeRecord executes the steps that create the namespace of the record. A failure ends the
// run: nothing else was written yet.
func (r *run) actBeforeRecord(ctx context.Context) error {
	for i := range r.plan.Steps {
		step := &r.plan.Steps[i]
		if !step.BeforeRecord {
			continue
		}
		done := act(cluster.Finish(ctx, 0), r.engine.Cluster, r.plan, step, &r.options)
		if done.pause == lingering {
			var err error
			if done, err = r.awaitBeforeRecord(ctx, i, done); err != nil {
				return fmt.Errorf("create %s for the record: %w", step.Ref, err)
			}
		}
		if done.deleted {
			done = notRecreated(done)
		}
		if done.err != nil {
			return fmt.Errorf("create %s for the record: %w", step.Ref,
				cluster.Redact(done.err, step.HoldsSecret()))
		}
		r.early[i] = done
	}
	return nil
}

// finishBeforeRecord handles the results of the steps that were executed before the loop.
func (r *run) finishBeforeRecord(ctx context.Context) {
	for i := range r.plan.Steps {
		if done := r.early[i]; done != nil {
			r.schedule.take(i)
			r.finish(ctx, i, done)
		}
	}
}
