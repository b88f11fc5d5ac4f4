package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Work is the tag of a step: its change, and how that went so far. It belongs to the goroutine that
// has the step: a worker while the step is written, else the run.
type Work struct {
	Change  *change.Change // as the user approved it
	Rebased *change.Change // as it was rebased onto an object that others changed meanwhile; else nil
	Existed bool           // the object to be created existed

	original string // fingerprint of the object as the server stored it first; empty before that
}

// WorkOf returns the tag of a step or event; nil for steps that only join others.
func WorkOf(tag any) *Work {
	w, _ := tag.(*Work)
	return w
}

// decider makes the decisions of an app that depend on the answers of the server; see plan.Decider.
type decider struct {
	*Run
	ctx context.Context // of the run, for looking up the owners of objects
}

// carryOver copies into a step that was decided again what it has in common with the one before.
func carryOver(step, next *plan.Step) {
	next.Ref, next.Source, next.Wait, next.Timeouts = step.Ref, step.Source, step.Wait, step.Timeouts
	next.Needs, next.After, next.Rank = step.Needs, step.After, step.Rank
	next.Sensitive = next.Sensitive || step.Sensitive
}

// Amend returns the object with the record of what was applied, unless the first write had the
// right one.
func (d decider) Amend(
	step *plan.Step, stored *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	w := WorkOf(step.Tag)
	wanted := w.Change.New
	if wanted == nil {
		return nil, nil
	}
	if w.original == "" {
		applied := stored
		if w.Rebased != nil && step.Op == plan.Update { // a recreated object has no changes of others
			applied = w.Rebased.WithoutChangesByOthers(stored)
		}
		var err error
		if w.original, err = lastapplied.Fingerprint(applied, wanted, d.config); err != nil {
			return nil, err
		}
	}
	next, err := lastapplied.Correction(stored, wanted, w.original, d.config)
	if err == nil && next != nil && d.plan.ServerSide && step.Have != nil {
		next = lastapplied.CopyAnnotations(next, step.Want)
	}
	return next, err
}

// Replan returns the step for a change whose object is not as it was when the change was shown.
func (d decider) Replan(
	step *plan.Step, live *unstructured.Unstructured, refused error,
) (*plan.Step, error) {
	w := WorkOf(step.Tag)
	c := w.Change
	switch {
	case live == nil:
		return nil, refused
	case step.Op == plan.Unchanged: // the user saw no change of it
		next := *step
		next.Have = live
		return &next, nil
	case c.ApplyOp() == change.Delete:
		if err := d.checkMember(live); err != nil {
			return nil, err
		}
	}
	d.deciding.Lock() // masked values are numbered across all changes
	defer d.deciding.Unlock()
	w.Existed = w.Existed || step.Op == plan.Create
	rebased, err := c.Rework(live, RequestError(c, c.ApplyOp(), refused), d.masker)
	if err == nil && c.ApplyOp() == change.Add && rebased.Op == change.Update {
		err = d.checkOwner(d.ctx, c.New, live)
	}
	if err != nil {
		return nil, err
	}
	w.Rebased = rebased
	next, err := d.step(rebased)
	if err != nil {
		return nil, err
	}
	carryOver(step, &next)
	next.Tag = w
	return &next, nil
}

// Exclude returns the step of a server-side apply with what is in its way.
func (d decider) Exclude(step *plan.Step) (*plan.Step, error) {
	d.deciding.Lock()
	defer d.deciding.Unlock()
	w, next := WorkOf(step.Tag), *step
	c := w.Change
	if w.Rebased != nil {
		c = w.Rebased
	}
	var err error
	next.Obstacles, err = obstacles(c, step.TooMany)
	return &next, err
}

// Recreate returns a step with the object that is created in place of the one that the run has
// deleted.
func (d decider) Recreate(step *plan.Step) (*plan.Step, error) {
	c := WorkOf(step.Tag).Change
	if c.New == nil {
		return nil, errors.New("the app does not describe it")
	}
	d.deciding.Lock()
	defer d.deciding.Unlock()
	next, err := *step, error(nil)
	next.Recreate, err = d.signed(c.New, c.New, nil)
	return &next, err
}

// checkMember returns an error if an object to be deleted does not belong to the app any more.
func (d decider) checkMember(live *unstructured.Unstructured) error {
	if app.IsMember(d.app, live) {
		return nil
	}
	return fmt.Errorf("%s is not deleted: others took it out of the app since its deletion was "+
		"planned", resource.Describe(live))
}

// requests are kapp's words for the request of each operation.
var requests = map[change.Op]string{
	change.Add: "Creating", change.Update: "Updating", change.Delete: "Deleting",
	change.Exists: "Checking existence of",
}

// RequestError returns an error of the server with the request that it refused.
func RequestError(c *change.Change, op change.Op, err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || strings.Contains(err.Error(), "API server says: ") {
		return err
	}
	return fmt.Errorf("%s resource %s: API server says: %w (reason: %s)", requests[op],
		c.Description(), err, status.Status().Reason)
}
