package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// amendFor is how long a second write is tried while others change the object, from its first
// attempt.
const amendFor = time.Minute

// replaces reports whether the object of a step is deleted and recreated under a condition.
func replaces(step *plan.Step, in plan.Replacement) bool {
	return step.Op == plan.Update && step.Have != nil && step.Replace == in
}

// heldBack returns the result of a step whose object would be deleted and recreated, if the plan
// does not delete objects of its kind, or if objects that stay would be deleted with it; else nil.
// An object that is being deleted is lost already.
func heldBack(p *plan.Plan, step *plan.Step, because error) *result {
	if step.Have.GetDeletionTimestamp() != nil {
		return nil
	}
	if p.Holds(step) {
		lost, held := plan.LostWith(step)
		err := &plan.HeldError{Lost: lost, Kind: held, Err: because}
		return &result{op: step.Op, outcome: event.Failed, err: err}
	}
	if dependent, ok := p.Dependent(step); ok {
		err := &plan.OwnerError{Dependent: dependent, Err: because}
		return &result{op: step.Op, outcome: event.Failed, err: err}
	}
	return nil
}

// replace deletes the object of a step and recreates it. It tries to create it at once, since most
// objects are gone when their deletion is answered; else the result says what remains to be done. A
// dry run only reports it. Because is the error of the update; nil if none was tried.
func replace(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step, because error, o *Options,
) *result {
	if step.Replace != plan.ReplaceImmutable || o.DryRun != DryRunNone {
		tried := tryRecreation(ctx, c, p, step, because, o)
		if o.DryRun != DryRunNone || tried.outcome == event.Failed {
			return tried
		}
	} else if held := heldBack(p, step, because); held != nil {
		return held
	}
	for attempt := 1; step.Have.GetDeletionTimestamp() == nil; attempt++ {
		_, err := c.Delete(ctx, deletion(step, metav1.DeletePropagationBackground, o.DryRun))
		if err == nil {
			break
		}
		if apierrors.IsConflict(err) && attempt < attempts {
			live, readErr := reread(ctx, c, step.Have, err)
			reason := step.Reason
			if readErr == nil {
				step, readErr = replan(p, step, live, err, o)
			}
			if readErr == nil && step.Replace != "" {
				next := *step
				next.Reason = cmp.Or(step.Reason, reason)
				step = &next
			}
			if err = readErr; err == nil && (step.Op != plan.Update || step.Replace == "") {
				return applyStep(ctx, c, p, step, o)
			}
		}
		if err != nil {
			return &result{op: plan.Update, outcome: event.Failed, err: undeleted(err)}
		}
	}
	o.deleted.add(step.Have)
	rest := recreateStep(step)
	rest.Draft, rest.Leaving = nil, step.Have // it is complete
	return created(ctx, c, p, rest, o)
}

// undeleted returns the error of a deletion: if it is unknown whether that was carried out, the
// error says so.
func undeleted(err error) error {
	interrupted := (*cluster.InterruptedError)(nil)
	if errors.As(err, &interrupted) && interrupted.Unsent || apierrors.IsConflict(err) ||
		cluster.Refused(err) {
		return err
	}
	return &NotRecreatedError{Err: err, Undeleted: true}
}

// created returns the result of the creation of an object whose predecessor the run has deleted.
func created(
	ctx context.Context, c cluster.Writer, p *plan.Plan, rest *plan.Step, o *Options,
) *result {
	stored, err := write(ctx, c, p, rest, o)
	if overtaken(rest, err) {
		return &result{
			op:      rest.Op,
			outcome: event.Failed,
			err:     &LingeringError{},
			rest:    rest,
			deleted: true,
			pause:   lingering,
			seen:    cluster.ObjectEvent{Object: rest.Leaving},
		}
	}
	if err != nil {
		return &result{op: rest.Op, outcome: event.Failed, err: err, rest: rest, deleted: true}
	}
	done := amended(ctx, c, p, rest, stored, o)
	done.unstored = unstored(p, rest, stored)
	return done
}

// notRecreated returns the result of a step that was to create an object in place of one that the
// run has deleted: a failure that says so unless it was created.
func notRecreated(done *result) *result {
	if done.outcome == event.Succeeded || done.stored {
		return done
	}
	failed := *done
	if failed.err == nil {
		failed.err = errors.New(done.reason)
	}
	failed.outcome, failed.reason, failed.code = event.Failed, "", ""
	failed.err = &NotRecreatedError{Err: failed.err, Uncertain: maybeCreated(failed.err)}
	return &failed
}

// maybeCreated reports whether a creation that failed may have been carried out.
func maybeCreated(err error) bool {
	interrupted, status := (*cluster.InterruptedError)(nil), apierrors.APIStatus(nil)
	switch {
	case errors.As(err, &interrupted):
		return !interrupted.Unsent && maybeCreated(interrupted.Last)
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		cluster.WebhookUnavailable(err):
		return false
	case errors.As(err, &status):
		return !cluster.Refused(err)
	}
	network := net.Error(nil)
	return errors.As(err, &network)
}

// emitUncreated emits of a paused step that its object was deleted and is not created again yet,
// and why. A creation that is repeated is emitted each time, its reason once.
func (r *run) emitUncreated(i int, op plan.Op) {
	t := &r.tracks[i]
	e := event.Event{
		Kind: event.Retried, Step: i, Op: op, Err: &NotRecreatedError{Err: t.err, Waits: true},
	}
	if text := e.Err.Error(); text != t.uncreated {
		t.uncreated, r.progress, e.NotRecreated = text, time.Now(), true
		e.Causes = []ready.Cause{{Object: r.plan.Steps[i].Ref, Count: 1, Message: text}}
	} else if t.pause == lingering {
		return
	}
	if t.pause == lingering {
		e.Status = ready.Status{State: ready.Terminating, Message: e.Err.Error()}
	}
	r.emit(e)
}

// endRecreation emits, of a step that ends with the run, that its object was deleted and not
// created again.
func (r *run) endRecreation(i int) {
	t, why := &r.tracks[i], ""
	switch {
	case r.outOfTime:
		why = ErrOutOfTime.Error()
	case r.interrupted:
		why = "the run was interrupted"
	default:
		why = fmt.Sprintf("the run ended early, because %s failed", r.plan.Steps[r.endedBy].Ref)
	}
	err := &NotRecreatedError{Err: errors.New(why)}
	if t.err != nil {
		err.Err = fmt.Errorf("%s: %w", why, t.err)
	}
	t.ran, t.op, t.acted, t.err = true, plan.Create, event.Failed, err
	r.emit(event.Event{
		Kind: event.Acted, Step: i, Op: t.op, Outcome: t.acted, Err: err, NotRecreated: true,
	})
}

// recreateStep returns the step that creates the object of another step, without the metadata of
// the old object.
func recreateStep(step *plan.Step) *plan.Step {
	rest := *step
	if step.Recreate != nil {
		rest.Want = step.Recreate
	}
	rest.Op, rest.Have, rest.FullReplace, rest.Replace, rest.Recreate = plan.Create, nil, false, "",
		nil
	rest.Patch, rest.Reverts = diff.Patch{}, nil
	rest.Want = reheaded(rest.Want, func(metadata map[string]any) {
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp",
			"deletionTimestamp", "deletionGracePeriodSeconds"} {
			delete(metadata, field)
		}
	})
	return &rest
}

// withPreconditions returns an object that replaces a live one only if that has not changed.
func withPreconditions(obj, live *unstructured.Unstructured) *unstructured.Unstructured {
	return reheaded(obj, func(metadata map[string]any) {
		metadata["uid"], metadata["resourceVersion"] = string(live.GetUID()), live.GetResourceVersion()
	})
}

// reheaded returns an object with other metadata and without managed fields. It shares all other
// fields.
func reheaded(
	obj *unstructured.Unstructured, change func(metadata map[string]any),
) *unstructured.Unstructured {
	next := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	change(metadata)
	next.Object["metadata"] = metadata
	return next
}

// amended returns the result of a step after its second write, if the plan asks for one.
func amended(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	stored *unstructured.Unstructured,
	o *Options,
) *result {
	done := &result{op: step.Op, outcome: event.Succeeded, seen: cluster.ObjectEvent{Object: stored}}
	changed := step.Have == nil || !sameContent(stored, step.Have)
	if p.Decider == nil && (p.Keeper == nil || !changed) ||
		o.DryRun != DryRunNone || step.Reverts != nil {
		return done
	}
	live, err := amend(ctx, c, p, step, stored)
	if err != nil {
		return &result{op: step.Op, outcome: event.Failed, err: err, stored: true}
	}
	done.seen.Object = live
	return done
}

// secondWrite returns the object for the second write of a step; nil if none is needed.
func secondWrite(
	p *plan.Plan, step *plan.Step, first, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if p.Decider != nil {
		return p.Decider.Amend(step, live)
	}
	return p.Keeper.Correct(step, first, live)
}

// amend makes the second write of a step and returns the object. After a conflict it reads the
// object and asks again: soon, then every second.
func amend(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	pause := wait.Backoff{
		Duration: 20 * time.Millisecond,
		Factor:   2,
		Jitter:   0.1,
		Steps:    7,
		Cap:      time.Second,
	}
	first := live
	for end := time.Now().Add(amendFor); ; {
		next, err := secondWrite(p, step, first, live)
		if err != nil || next == nil {
			return live, err
		}
		second := cluster.Write{
			Object:  withPreconditions(next, live),
			Method:  cluster.Replace,
			Manager: p.Manager,
		}
		if step.ServerSide && (step.Have != nil || p.Decider == nil) {
			second.Method, second.Force = cluster.Apply, p.Force || step.Force
		}
		stored, err := c.Write(ctx, second)
		if !apierrors.IsConflict(err) || !time.Now().Before(end) {
			return stored, err
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			return nil, err
		}
		if live, err = rereadSame(ctx, c, live, err); err != nil {
			return nil, err
		}
	}
}
