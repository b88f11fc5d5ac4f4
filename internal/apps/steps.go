package apps

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// buildPlan builds the plan of the changes.
func (r *Run) buildPlan(ctx context.Context) error {
	steps := make([]plan.Step, len(r.graph.Needs))
	for i, needs := range r.graph.Needs {
		if i >= len(r.changes) {
			steps[i] = plan.Step{Op: plan.Guard, After: needs}
			continue
		}
		step, err := r.step(r.changes[i])
		if err != nil {
			return err
		}
		step.Needs, step.Tag = needs, &Work{Change: r.changes[i]}
		steps[i] = step
	}
	var err error
	if r.plan, err = plan.Sort(steps); err != nil {
		return err
	}
	r.plan.Manager, r.plan.Propagation = Manager, metav1.DeletePropagationBackground
	r.plan.Decider, r.plan.Destroys = decider{r, ctx}, r.deletes
	if r.options.HintRecreation {
		r.plan.RecreateHint = recreateHint
	}
	if r.options.ServerSide {
		r.plan.ServerSide, r.plan.Preconditions = true, true
		r.plan.Force = true // like an update, it sets the fields of the inputs
	}
	return nil
}

// step returns the step of a change.
func (r *Run) step(c *change.Change) (plan.Step, error) {
	obj := c.Object()
	step := plan.Step{
		Ref: object.RefOf(obj), Have: c.Existing, Source: c.Description(),
		Wait: c.WaitOp() != change.AwaitNothing, Timeout: r.options.WaitTimeout,
		Sensitive: r.options.Mask && r.config.Masks(obj),
	}
	if step.Ref.Name == "" {
		step.Ref.Name, step.Wait = obj.GetGenerateName()+"*", false // the server names the object
	}
	strategy, err := c.Strategy()
	if err != nil {
		return step, err
	}
	switch c.ApplyOp() {
	case change.Add:
		step.Op = plan.Create
	case change.Update:
		step.Op, step.FullReplace = plan.Update, true
		switch strategy {
		case change.Skip:
			step.Op, step.FullReplace = plan.Unchanged, false
		case change.AlwaysReplace:
			step.Replace = plan.ReplaceAlways
		case change.FallbackOnReplace:
			step.Replace = plan.ReplaceInvalid
		}
	case change.Delete:
		step.Op = plan.Delete
		if strategy == change.Orphan {
			step.Op, step.Wait = plan.Update, false
			step.Want, step.Releases = c.Existing, true
			step.Patch, err = r.release()
		}
	case change.Exists:
		step.Op = plan.AwaitCreated
	default:
		step.Op = plan.Unchanged
		if c.WaitOp() == change.AwaitDelete {
			step.Op = plan.AwaitDeleted
		}
	}
	if err == nil && (step.Op == plan.Create || step.FullReplace) {
		step.Want, err = r.signed(c.Applied, c.New, c.Existing)
	}
	if err == nil && step.FullReplace && r.options.ServerSide {
		step.FullReplace = false
		step.Want, err = serverSideObject(c, step.Want)
	}
	if err == nil && (step.Replace != "" || step.FullReplace && r.options.HintRecreation) {
		step.Recreate, err = r.signed(c.New, c.New, nil) // without fields of the replaced object
	}
	return step, err
}

// signed returns the object to send for a change, with its identity and the expected record of what
// was applied.
func (r *Run) signed(
	sent, described, existing *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	sent, err := lastapplied.Annotate(sent, described, existing, r.config)
	if err == nil {
		sent.SetManagedFields(nil)
	}
	return sent, err
}

// release returns the patch that removes an object from its app and leaves it in the cluster.
func (r *Run) release() (diff.Patch, error) {
	labels := map[string]any{resource.LabelApp: nil, resource.LabelOrphaned: ""}
	if key, _, err := r.app.Label(); err == nil { // else the app is given by several labels
		labels[key] = nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	return diff.Patch{Type: types.MergePatchType, Data: data}, err
}

// recreateHint is what users may do about a field that cannot change.
const recreateHint = "the annotation " + resource.AnnUpdateStrategy + ": " +
	change.FallbackOnReplace + " deletes the object and creates it again"
