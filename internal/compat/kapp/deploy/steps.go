package deploy

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// buildPlan builds the plan of the changes.
func (r *Run) buildPlan() error {
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
	r.plan.Manager = app.Manager
	r.plan.Propagation = metav1.DeletePropagationBackground
	r.plan.Destroys, r.plan.Bookkeeping = r.deletes, resource.Bookkeeping[:]
	r.plan.Unplanned = r.unplanned
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
		Wait: c.WaitOp() != change.AwaitNothing, ServerSide: r.options.ServerSide,
		Timeouts: plan.Timeouts{Timeout: r.options.WaitTimeout},
	}
	step.Sensitive = r.options.Mask && r.config.Masks(obj)
	if step.Ref.Name == "" {
		step.Ref.Name, step.Wait = obj.GetGenerateName()+"*", false // the server names the object
	}
	strategy, err := c.Strategy()
	if err != nil {
		return step, err
	}
	if err := r.setOperation(&step, c, strategy); err != nil {
		return step, err
	}
	if step.Op == plan.Create || step.FullReplace {
		step.Want, err = r.signed(c.Applied, c.New, c.Existing)
	}
	if err == nil && step.FullReplace && r.options.ServerSide {
		err = r.mergeByServer(&step, c)
	}
	if err == nil && step.Replace != "" {
		step.Recreate, err = r.signed(c.New, c.New, nil) // without fields of the replaced object
	}
	return step, err
}

// setOperation sets what the step of a change does.
func (r *Run) setOperation(step *plan.Step, c *change.Change, strategy string) (err error) {
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
			step.Patch, err = r.release(step.Have)
		}
	case change.Exists:
		step.Op = plan.AwaitCreated
	default:
		step.Op = plan.Unchanged
		if c.WaitOp() == change.AwaitDelete {
			step.Op = plan.AwaitDeleted
		}
	}
	return err
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

// release returns the patch that removes an object from its app, and its owner references to the
// record, and leaves it in the cluster.
func (r *Run) release(live *unstructured.Unstructured) (diff.Patch, error) {
	labels := map[string]any{resource.LabelApp: nil, resource.LabelOrphaned: ""}
	if key, _, err := r.app.Label(); err == nil { // else the app is given by several labels
		labels[key] = nil
	}
	metadata := map[string]any{"labels": labels}
	_, holders := r.app.Holders()
	if rest, has := object.WithoutOwners(live, holders); has {
		metadata["ownerReferences"] = rest
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	return diff.Patch{Type: types.MergePatchType, Data: data}, err
}
