package apps

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// buildPlan builds the plan of the changes.
func (r *Run) buildPlan() error {
	steps := make([]plan.Step, len(r.graph.Needs))
	var wrong []error // with objects
	for i, needs := range r.graph.Needs {
		if i >= len(r.changes) {
			steps[i] = plan.Step{Op: plan.Guard, After: needs}
			continue
		}
		step, err := r.step(r.changes[i])
		if err != nil && r.options.Policy != nil {
			wrong = append(wrong, r.objectError(r.changes[i], err))
			continue
		}
		if err != nil {
			return err
		}
		switch held := r.changes[i].HeldFor; {
		case held == nil || step.ReasonCode == plan.ReasonForeign:
		case r.owners[r.changes[i]] == held:
			step.KeepOwnerOf(object.RefOf(held))
		case slices.Contains(r.staying, held):
			step.KeepFor(object.RefOf(held))
		default:
			step.HoldBack(object.RefOf(held))
		}
		step.Needs, step.Tag = needs, &Work{Change: r.changes[i]}
		steps[i] = step
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	r.setDrafts(steps)
	if r.options.Policy != nil || r.options.LeaveForeign {
		if err := plan.SettleSkipped(steps, r.setRelease); err != nil {
			return err
		}
	}
	if r.options.GuardDeletes {
		steps = guardPruning(guardControllers(steps), r.options.PruneAfterFailure)
		plan.DeleteAggregatesFirst(steps)
		plan.AwaitWebhooks(steps)
	}
	if r.options.Waves {
		steps = plan.InWaves(steps)
	}
	var err error
	if r.plan, err = plan.Sort(steps); err != nil {
		return err
	}
	r.plan.Manager = Manager
	r.plan.Propagation = cmp.Or(r.options.Propagation, metav1.DeletePropagationBackground)
	r.plan.AwaitPods = r.options.AwaitPods
	r.plan.Conflicts = r.options.Conflicts
	r.plan.Destroys, r.plan.Bookkeeping = r.deletes, resource.Bookkeeping[:]
	r.plan.RecreateDeleted, r.plan.Held = r.options.RecreateDeleted, r.options.Held
	r.plan.Unplanned = r.unplanned
	if r.options.Unchanged {
		r.plan.Recorded = r.recorded()
	}
	if r.options.HintRecreation {
		r.plan.RecreateHint = recreateHint
		if p := r.options.Policy; p != nil && p.RecreateHint != "" {
			r.plan.RecreateHint = p.RecreateHint
		}
	}
	if r.options.ServerSide {
		r.plan.ServerSide, r.plan.Preconditions = true, true
		// Like an update, it sets the fields of the inputs.
		c := r.options.Conflicts
		r.plan.Force = c == plan.ConflictsIgnored || c == plan.TakeAll
	}
	r.plan.Decider = decider{Run: r}
	r.plan.PreviewAll()
	r.completeChanges()
	return nil
}

// recorded returns the objects of the steps that carry the label of the app already.
func (r *Run) recorded() []object.Ref {
	var refs []object.Ref
	for _, step := range r.plan.Steps {
		if have := cmp.Or(step.Have, step.Leaving); have != nil && !r.adopted[have] {
			refs = append(refs, step.Ref)
		}
	}
	return refs
}

// guardPruning returns the steps with one more, which lets nothing be deleted before everything
// that is applied has succeeded, or has ended if objects are pruned after a failure, too. It does
// not wait for steps that wait for a deletion by the rules of the app.
func guardPruning(steps []plan.Step, afterFailure bool) []plan.Step {
	const unknown, early, late = 0, 1, 2
	state := make([]int, len(steps))
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] == unknown {
			state[i] = early
			waits := func(j int) bool { return steps[j].Op.Removes() || visit(j) }
			if slices.ContainsFunc(steps[i].Needs, waits) || slices.ContainsFunc(steps[i].After, waits) {
				state[i] = late
			}
		}
		return state[i] == late
	}
	join, deletes := plan.PruneGuard(afterFailure), false
	for i := range steps {
		deletes = deletes || steps[i].Op == plan.Delete
		if steps[i].Op.IsObject() && !steps[i].Op.Removes() && !visit(i) {
			join.After = append(join.After, i)
		}
	}
	if !deletes || len(join.After) == 0 {
		return steps
	}
	for i := range steps {
		if steps[i].Op == plan.Delete {
			steps[i].Needs = append(slices.Clone(steps[i].Needs), len(steps))
		}
	}
	return append(steps, join)
}

// guardControllers returns the steps with one more, if some of them delete custom resources whose
// definition is in the app: their controller, if it is in the app too, must be able to work until
// they are gone, because it removes their finalizers. All other deletions need that step, except
// those that the custom resources wait for by the rules of the app.
func guardControllers(steps []plan.Step) []plan.Step {
	defined := map[schema.GroupKind]bool{}
	for i := range steps {
		if steps[i].Ref.GroupKind() != plan.DefinitionKind {
			continue
		}
		if gk, ok := plan.DefinedKind(cmp.Or(steps[i].Want, steps[i].Have)); ok {
			defined[gk] = true
		}
	}
	guard, early := plan.ControllerGuard(), map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if early[i] {
			return
		}
		early[i] = true
		for _, j := range steps[i].Needs {
			visit(j)
		}
		for _, j := range steps[i].After {
			visit(j)
		}
	}
	for i := range steps {
		if steps[i].Op == plan.Delete && defined[steps[i].Ref.GroupKind()] {
			guard.After = append(guard.After, i)
			visit(i)
		}
	}
	guarded := false
	for i := range steps {
		if steps[i].Op == plan.Delete && !early[i] && len(guard.After) > 0 {
			steps[i].Needs = append(slices.Clone(steps[i].Needs), len(steps))
			guarded = true
		}
	}
	if !guarded {
		return steps
	}
	return append(steps, guard)
}

// sourcesOf returns the file and document of each input.
func sourcesOf(inputs []resource.Resource) map[*unstructured.Unstructured]string {
	sources := make(map[*unstructured.Unstructured]string, len(inputs))
	for _, r := range inputs {
		sources[r.Unstructured] = r.Origin
	}
	return sources
}

// step returns the step of a change.
func (r *Run) step(c *change.Change) (plan.Step, error) {
	obj := c.Object()
	step := plan.Step{
		Ref: object.RefOf(obj), Have: c.Existing, Source: c.Description(),
		Wait: c.WaitOp() != change.AwaitNothing, Timeout: r.options.WaitTimeout,
		ServerSide: r.options.ServerSide,
	}
	secret := r.options.MaskValues && step.HoldsSecret() // its values are masked, and nothing else
	step.Sensitive = r.options.Mask && r.config.Masks(obj) && !secret
	if step.Ref.Name == "" {
		step.Ref.Name, step.Wait = obj.GetGenerateName()+"*", false // the server names the object
	}
	if r.options.NameFiles {
		step.Source = r.sources[c.New]
	}
	if c.Foreign != "" {
		leaveToOthers(&step, c, c.Foreign)
		return step, nil
	}
	strategy, err := c.Strategy()
	if err != nil {
		return step, err
	}
	if err := r.setOperation(&step, c, strategy); err != nil {
		return step, err
	}
	if live := r.leaving[step.Ref]; live != nil && step.Op == plan.Create {
		step.Have = live
		step.SetLeaving()
	}
	if err := r.annotate(&step, c); err != nil {
		return step, err
	}
	if step.Op == plan.Create || step.FullReplace {
		step.Want, err = r.sent(c)
	}
	if err == nil && step.FullReplace && r.options.ServerSide {
		step.FullReplace = false
		step.Want, err = serverSideObject(c, step.Want)
	}
	if err == nil && (step.Op == plan.Update || step.Op == plan.Unchanged) {
		err = r.setOwnership(&step, c)
	}
	if err == nil && (step.Replace != "" || step.FullReplace && r.options.HintRecreation) {
		step.Recreate, err = r.signed(c.New, c.New, nil) // without fields of the replaced object
	}
	if err == nil && r.options.LeaveForeign {
		err = r.markOwners(&step, c)
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
			if r.options.Retain {
				step.Reason = "update strategy " + strategy
			}
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
		if strategy == change.Orphan && r.options.Retain {
			step.Op, step.Want, step.Releases = plan.Orphan, nil, false
			step.ReasonCode, step.Reason = plan.ReasonRetained, retainedReason(c.Object())
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

// retainedReason returns why an object is left in the cluster.
func retainedReason(obj *unstructured.Unstructured) string {
	if value, ok := object.AnnotationsOf(obj).Lookup(resource.AnnDeleteStrategy); ok {
		return fmt.Sprintf("annotation prevents deletion (%q: %q)", resource.AnnDeleteStrategy, value)
	}
	return "every cluster needs it"
}

// sent returns the object that a creation or an update sends in full.
func (r *Run) sent(c *change.Change) (*unstructured.Unstructured, error) {
	recorded, err := r.recordedForm(c, c.Existing)
	if err != nil {
		return nil, err
	}
	applied := c.Applied
	if r.options.KeepAdded && c.Existing != nil && !r.options.ServerSide {
		applied = lastapplied.KeepGenerated(applied, c.Existing)
	}
	return r.signed(applied, recorded, c.Existing)
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

// recreateHint is what users may do about a field that cannot change.
const recreateHint = "the annotation " + resource.AnnUpdateStrategy + ": " +
	change.FallbackOnReplace + " deletes the object and creates it again"
