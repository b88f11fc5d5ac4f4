package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// BeingDeletedError is the error of an object that is created as soon as the one that is being
// deleted is gone.
type BeingDeletedError struct {
	Causes []ready.Cause // what delays the deletion
	live   *unstructured.Unstructured
}

func (e *BeingDeletedError) Error() string {
	var texts []string
	for _, c := range e.Causes {
		texts = append(texts, c.Message)
	}
	return cmp.Or(strings.Join(texts, "; "), "it is being deleted")
}

// StillThereError is the error of an object that was not created, because the one that is being
// deleted was not gone in time.
type StillThereError struct {
	After time.Duration
	Last  *BeingDeletedError
}

func (e *StillThereError) Error() string {
	return fmt.Sprintf("not created: the object with its name is not gone after %s: %v; "+
		"find out what delays its deletion, and apply again", e.After, e.Last)
}

// Unwrap returns what was waited for.
func (e *StillThereError) Unwrap() error { return e.Last }

// inTheWay reports whether a live object that prevents the creation of a step is about to be gone.
func inTheWay(step *plan.Step, live *unstructured.Unstructured) bool {
	return live != nil && step.Leaving != nil && live.GetUID() == step.Leaving.GetUID()
}

// isLeaving reports whether the object of a step that applies it is being deleted, and is to be
// created again.
func isLeaving(p *plan.Plan, step *plan.Step, live *unstructured.Unstructured) bool {
	return p.RecreateDeleted && live != nil && live.GetDeletionTimestamp() != nil &&
		step.Op.Applies() && step.Op != plan.Skip
}

// awaitGone returns the result of a step whose object is created once the live one is gone: it is
// paused until then. A dry run only reports it. Nil if the object to create is unknown.
func awaitGone(
	p *plan.Plan, step *plan.Step, live *unstructured.Unstructured, o *Options,
) *result {
	rest := *step
	if step.Op != plan.Create {
		if step.Want == nil && step.Recreate == nil {
			return nil
		}
		manifest, err := p.Manifest(step)
		if err != nil {
			return nil
		}
		rest.Recreate = manifest
		rest = *recreateStep(&rest)
	}
	rest.Have = live
	rest.SetLeaving()
	if o.DryRun != DryRunNone {
		return &result{op: plan.Create, outcome: event.Succeeded, would: rest.Want,
			reason: rest.Reason, code: rest.ReasonCode}
	}
	return &result{
		op: plan.Create, outcome: event.Failed, err: &BeingDeletedError{live: live},
		rest: &rest, pause: lingering, seen: cluster.ObjectEvent{Object: live},
	}
}

// clearLeaving removes the reason of a step that it waits, when it has waited.
func clearLeaving(step *plan.Step) *plan.Step {
	if step.ReasonCode != plan.ReasonLeaving {
		return step
	}
	next := *step
	next.Reason, next.ReasonCode = "", ""
	return &next
}

// explainLingering updates why the object of a paused step is not gone, and reports whether that is
// another reason than before.
func (r *run) explainLingering(t *track, seen observation) bool {
	if seen.evidence == nil || t.deleted && !seen.leaving {
		return false
	}
	now := r.causesOf(seen.evidence, time.Time{})
	var before []ready.Cause
	switch waits := t.err.(type) {
	case *BeingDeletedError:
		before, t.err = waits.Causes, &BeingDeletedError{Causes: now}
	case *LingeringError:
		before, t.err = waits.Causes, &LingeringError{Causes: now}
	default:
		return false
	}
	return slices.ContainsFunc(now, func(c ready.Cause) bool {
		return !slices.ContainsFunc(before, c.Same)
	})
}

// emitLingering emits that a paused step waits until an object is gone, and why it is not.
func (r *run) emitLingering(i int) {
	waits, ok := r.tracks[i].err.(*BeingDeletedError)
	switch {
	case ok:
		r.progress = time.Now()
		r.emit(event.Event{
			Kind: event.Retried, Step: i, Op: plan.Create, Err: waits, Causes: waits.Causes,
			Status: ready.Status{State: ready.Terminating, Message: waits.Error()},
		})
	case r.tracks[i].deleted:
		r.emitUncreated(i, plan.Create)
	}
}

// awaitBeforeRecord waits until the object of a step that runs before the record is saved is gone,
// and creates it then.
func (r *run) awaitBeforeRecord(ctx context.Context, i int, paused *result) (*result, error) {
	t, step := &r.tracks[i], paused.rest
	t.err, t.base = paused.err, r.look(i, paused.seen)
	patience := r.lingerLimit(i)
	limited, cancel := patience.Context(ctx)
	defer cancel()
	r.explainLingering(t, t.base)
	r.emitLingering(i)
	observed := make(chan observation)
	r.engine.Cluster.Watch(limited, []object.Ref{step.Ref}, func(s cluster.ObjectEvent) {
		select {
		case observed <- r.look(i, s):
		case <-limited.Done():
		}
	})
	for {
		select {
		case seen := <-observed:
			if seen.err != nil || seen.isZero() || seen.before(t.base) {
				continue
			}
			if seen.verdict.State != ready.NotFound && seen.uid == t.base.uid {
				if r.explainLingering(t, seen) {
					r.emitLingering(i)
				}
				continue
			}
			done := act(cluster.Finish(ctx, 0), r.engine.Cluster, r.plan, step, &r.options)
			if done.pause == lingering { // others have created and deleted it again
				return r.awaitBeforeRecord(ctx, i, done)
			}
			return done, done.err
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			waits, _ := t.err.(*BeingDeletedError)
			return nil, &StillThereError{After: patience.Duration(), Last: waits}
		}
	}
}

// NamespaceLeavingError reports that objects cannot be created because their namespace is being
// deleted, and the set does not create it again.
type NamespaceLeavingError struct {
	Namespace string
	Objects   []object.Ref // to be created, in the order of the plan
}

func (e *NamespaceLeavingError) Error() string {
	text := e.Objects[0].Short()
	if more := len(e.Objects) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the namespace %q is being deleted, so that %s cannot be created in it; wait "+
		"until it is gone and create it again, or add it to the set", e.Namespace, text)
}

// CheckNamespaces returns a *NamespaceLeavingError if the plan creates objects in a namespace that
// is being deleted, unless the plan creates that again. It reads the namespaces that are not in the
// plan, and notes in it which exist; one that the user may not read is not checked.
func CheckNamespaces(ctx context.Context, c cluster.Writer, p *plan.Plan) error {
	created, index := map[string][]object.Ref{}, p.Index()
	for _, step := range p.Steps {
		if step.Op == plan.Create && step.Ref.Namespace != "" {
			created[step.Ref.Namespace] = append(created[step.Ref.Namespace], step.Ref)
		}
	}
	live := map[string]*unstructured.Unstructured{}
	var targets []cluster.Target
	for name := range created {
		ref := object.Ref{Kind: plan.NamespaceKind.Kind, Name: name}
		if i, ok := index[ref]; ok {
			live[name] = p.Steps[i].Have
		} else {
			targets = append(targets, cluster.Target{Ref: ref})
		}
	}
	if len(targets) > 0 {
		snapshot, err := c.Read(ctx, targets)
		if err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("read the namespaces: %w", err)
		}
		if err == nil {
			p.Namespaces = map[string]bool{}
			for _, target := range targets {
				obj := snapshot.Objects[target.Ref]
				live[target.Ref.Name], p.Namespaces[target.Ref.Name] = obj, obj != nil
			}
		}
	}
	for _, step := range p.Steps {
		if obj := live[step.Ref.Namespace]; step.Op == plan.Create && obj != nil &&
			obj.GetDeletionTimestamp() != nil {
			return &NamespaceLeavingError{
				Namespace: step.Ref.Namespace, Objects: created[step.Ref.Namespace],
			}
		}
	}
	return nil
}
