package cmd

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/changegraph"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// rollout is a set of changes on its way: decided, ordered, shown and carried out.
type rollout struct {
	*session
	diff   diffFlags
	apply  applyFlags
	kinds  kindFlags
	config *config.Config
	target *app.App

	forgets bool                                              // the record goes when nothing is left
	deletes bool                                              // the app is deleted
	adopted map[live]bool                                     // objects that were found by their names and not by the label of the app
	owned   func(ctx context.Context, wanted, obj live) error // refuses to take an object over that belongs to another app

	changes  []*change.Change
	excluded bool // some changes were left out by the filter of the flag
	graph    *changegraph.Graph
	masker   *change.Masker
	order    *plan.Plan
	deciding sync.Mutex // held while a change is decided on again during the run

	records record.Store // keeps the record of the app during the run
}

// decide calculates the changes and puts them in order.
func (r *rollout) decide(existing, wanted []*unstructured.Unstructured) error {
	options := change.Options{
		DefaultUpdateStrategy: r.apply.updateStrategy, Now: time.Now(),
		ApplyIgnored: r.apply.applyIgnored, Wait: r.apply.wait, WaitIgnored: r.apply.waitIgnored,
		DeleteOwned: r.deletes, IgnoreFailingAPIServices: r.kinds.ignoreFailing, Adopted: r.adopted,
	}
	var rules change.Config = r.config
	if r.deletes {
		rules = asItIs{r.config}
	} else if r.diff.lastApplied {
		options.LastApplied = r.lastApplied
	}
	if r.apply.merges() {
		options.Merge = merged
	}
	if r.diff.filter != "" {
		some, err := filter.ParseChangeFilter(r.diff.filter)
		if err != nil {
			return err
		}
		options.Filter = func(op string, new, existing *unstructured.Unstructured) bool {
			matches := some.Matches(op, new, existing)
			r.excluded = r.excluded || !matches
			return matches
		}
	}
	var err error
	if r.changes, err = change.Calculate(existing, wanted, rules, options); err != nil {
		return err
	}
	r.masker = r.newMasker()
	if err := r.arrange(); err != nil {
		return err
	}
	r.explain()
	return nil
}

// asItIs are rules that take nothing out of live objects: what an app loses when it is deleted is shown as it is.
type asItIs struct{ *config.Config }

// StripExisting takes nothing out.
func (asItIs) StripExisting(*unstructured.Unstructured) error { return nil }

// newMasker hides what the rules of the configuration say, unless the flags show all.
func (r *rollout) newMasker() *change.Masker {
	if !r.diff.mask {
		return nil
	}
	return change.NewMasker(r.config)
}

// arrange orders the changes by their groups and rules.
func (r *rollout) arrange() error {
	nodes := make([]changegraph.Node, len(r.changes))
	for i, c := range r.changes {
		node, err := changegraph.NodeOf(c.Description(), changegraph.Op(c.GraphOp()), c.Object(), r.config)
		if err != nil {
			return err
		}
		node.Waits = c.WaitOp() == change.AwaitReconcile
		nodes[i] = node
	}
	var err error
	r.graph, err = changegraph.Build(nodes, changegraph.Options{AwaitUnchanged: r.apply.holdUnready})
	return err
}

// lay makes the plan of the changes.
func (r *rollout) lay(ctx context.Context) error {
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
		step.Needs, step.Tag = needs, &work{change: r.changes[i]}
		steps[i] = step
	}
	var err error
	if r.order, err = plan.Sort(steps); err != nil {
		return err
	}
	r.order.Manager, r.order.Propagation = manager, metav1.DeletePropagationBackground
	r.order.Decider, r.order.Destroys = decider{r, ctx}, r.forgets
	if r.apply.merges() {
		r.order.ServerSide, r.order.Preconditions = true, true
		r.order.Force = true // as an update, it sets what the files say
	}
	return nil
}

// step is what is done for a change.
func (r *rollout) step(c *change.Change) (plan.Step, error) {
	obj := c.Object()
	step := plan.Step{
		Ref: object.RefOf(obj), Have: c.Existing, Source: c.Description(),
		Wait: c.WaitOp() != change.AwaitNothing, Timeout: r.apply.resourceTimeout, Sensitive: r.diff.mask && r.config.Masks(obj),
	}
	if step.Ref.Name == "" {
		step.Ref.Name, step.Wait = obj.GetGenerateName()+"*", false // nobody knows which object it will be
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
	if err == nil && step.FullReplace && r.apply.merges() {
		step.FullReplace = false
		step.Want, err = declared(c, step.Want)
	}
	if err == nil && step.Replace != "" {
		step.Recreate, err = r.signed(c.New, c.New, nil) // it carries nothing of the object that it replaces
	}
	return step, err
}

// signed is the object that is sent for a change, with its identity and the history that is foreseen.
func (r *rollout) signed(sent, described, existing *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	sent, err := lastapplied.Annotate(sent, described, existing, r.config)
	if err == nil {
		sent.SetManagedFields(nil)
	}
	return sent, err
}

// release is the patch that takes an object out of its app and leaves it in the cluster.
func (r *rollout) release() (diff.Patch, error) {
	labels := map[string]any{resource.LabelApp: nil, resource.LabelOrphaned: ""}
	if key, _, err := r.target.Label(); err == nil { // of an app that is given by more than one label nothing else can be taken
		labels[key] = nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	return diff.Patch{Type: types.MergePatchType, Data: data}, err
}
