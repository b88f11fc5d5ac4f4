package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// outlook is what would become of one object, as a dry run of the plan found out.
type outlook struct {
	step    *plan.Step
	op      plan.Op       // what would really be done
	outcome event.Outcome // Succeeded, Skipped or Failed
	reason  string        // why it is skipped, kept or orphaned, or what the server could not check
	err     error         // why it would fail
	after   *unstructured.Unstructured
}

// foresee runs a plan dry and gives what would become of its objects, in the order of the plan.
func foresee(ctx context.Context, eng *engine.Engine, p *plan.Plan, dryRun engine.DryRun) ([]outlook, error) {
	found := make([]outlook, len(p.Steps))
	board := view.NewRunState(p)
	_, err := eng.Apply(ctx, p, engine.Options{DryRun: dryRun}, func(e event.Event) {
		board.Add(e)
		if e.Kind == event.Acted {
			found[e.Step] = outlookOf(board, e)
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	var outlooks []outlook
	for _, o := range found {
		if o.step != nil { // barriers and guards concern no object
			outlooks = append(outlooks, o)
		}
	}
	return outlooks, nil
}

func outlookOf(b *view.RunState, e event.Event) outlook {
	step := &b.Plan.Steps[e.Step]
	o := outlook{step: step, op: e.Op, outcome: e.Outcome, reason: e.Reason, err: e.Err}
	switch {
	case e.Outcome == event.Skipped:
		o.reason = skipped(b, e)
	case e.Outcome == event.Succeeded && step.BeingDeleted(): // it would be written, and waited for until it is gone
		o.outcome, o.reason, o.err = event.Failed, "", errors.New("it is being deleted; apply again when it is gone")
	case e.Outcome == event.Succeeded && slices.Contains(diff.ServerFields(o.sent()), "metadata.resourceVersion"):
		o.outcome, o.reason, o.err = event.Failed, "", errors.New("the manifest has a metadata.resourceVersion, which is not that of "+
			"the object, so that the server would refuse it; take it out")
	case e.Outcome == event.Succeeded && e.DryRunObject != nil:
		o.after = e.DryRunObject
	case e.Outcome == event.Succeeded && (step.Op == plan.Create || step.Op == plan.Update):
		o.after = step.Want
	}
	return o
}

// sent is the patch that a client-side apply would send; nil if there is none.
func (o outlook) sent() map[string]any {
	if len(o.step.Patch.Data) == 0 || o.op != plan.Update {
		return nil
	}
	fields := map[string]any{}
	if err := json.Unmarshal(o.step.Patch.Data, &fields); err != nil {
		panic(fmt.Sprintf("read a patch of our own: %v", err)) // cannot happen
	}
	return fields
}

// undisclosed stands in place of the content of an object that holds values of a Secret at places that only the Secret's content
// would tell apart.
const undisclosed = "its content is not shown, because it has values of a Secret"

// sides are the object as it is and as it would be, as far as they may be shown.
func (o outlook) sides() (before, after *unstructured.Unstructured) {
	if o.step.Sensitive {
		return nil, nil
	}
	if o.verb() == toLeave {
		return diff.Mask(o.step.Have, o.step.Have)
	}
	return diff.Mask(o.step.Have, o.after)
}

// clear are the sides without what nobody writes.
func (o outlook) clear() (before, after *unstructured.Unstructured) {
	before, after = o.sides()
	return diff.Comparable(before, after, diff.Options{IgnoreAnnotations: []string{lastAppliedKey}})
}

// verb is what would be done to the object, in the words of plans.
type verb string

const (
	toCreate    verb = "create"
	toConfigure verb = "configure"
	toLeave     verb = "unchanged"
	toPrune     verb = "prune"
	toOrphan    verb = "orphan"
	toKeep      verb = "keep"
	toSkip      verb = "skip"
	toFail      verb = "fail"
)

// verbs are all of them, in the order in which they are counted.
var verbs = []verb{toCreate, toConfigure, toLeave, toPrune, toOrphan, toKeep, toSkip, toFail}

func (o outlook) verb() verb {
	switch {
	case o.outcome == event.Failed:
		return toFail
	case o.op == plan.Orphan:
		return toOrphan
	case o.op == plan.Keep || o.op == plan.Delete && o.outcome == event.Skipped:
		return toKeep
	case o.outcome == event.Skipped:
		return toSkip
	case o.op == plan.Create:
		return toCreate
	case o.op == plan.Update:
		return toConfigure
	case o.op == plan.Delete:
		return toPrune
	default:
		return toLeave
	}
}

// changes reports whether the cluster or the record would be another afterwards.
func (v verb) changes() bool {
	return v == toCreate || v == toConfigure || v == toPrune || v == toOrphan
}
