package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
)

// reduce looks at what the apply of the new set would do, and reduces its plan to marks: it creates
// and deletes nothing, and its updates change labels and annotations of owners, what was applied
// last, and field managers.
func (a *Adoption) reduce(ctx context.Context, op *Operation) error {
	if err := a.checkNew(op.Recorded); err != nil {
		return err
	}
	live, err := a.inspect(ctx, op)
	if err != nil {
		return err
	}
	r := reduction{
		adoption: a, plan: op.Plan, live: live,
		marks: a.From.Marks(a.format().adoption.drops...), described: map[object.Ref]any{},
		differing: a.look.differing(), former: a.From.ManifestsByRef(),
	}
	if r.own, err = a.own(ctx); err != nil {
		return err
	}
	for _, d := range op.Described {
		r.described[object.RefOf(d.Object)] = d.Object.Object["metadata"]
	}
	return r.steps()
}

// reduction reduces the plan of an apply to marks.
type reduction struct {
	adoption  *Adoption
	plan      *plan.Plan
	live      map[object.Ref]*unstructured.Unstructured // with managed fields
	marks     adopt.Marks
	own       owner.Owner
	described map[object.Ref]any // the metadata of manifests
	differing *object.Set        // from what the manifests describe
	// former are the manifests of the old tool; of what it does not find any more there is none.
	former map[object.Ref]*unstructured.Unstructured
}

// steps reduces all steps.
func (r *reduction) steps() error {
	for i := range r.plan.Steps {
		step := &r.plan.Steps[i]
		if err := r.step(step); err != nil {
			return fmt.Errorf("%s: %w", step.Ref, err)
		}
		step.Needs = nil // marks need no order
	}
	return nil
}

// step reduces a step.
func (r *reduction) step(step *plan.Step) error {
	live, member := r.live[step.Ref], r.adoption.members.Has(step.Ref)
	switch {
	case member && step.Op.External():
		r.cannotMark(step)
	case !step.Op.IsObject() || step.Op.External():
	case member && live != nil && !step.Op.Removes():
		return r.mark(step, live)
	case step.Op.Removes():
		step.Exclude(notDescribed)
	default:
		reason := r.adoption.From.Title + " does not have it"
		if member {
			reason = notFound
		}
		step.Exclude(reason)
	}
	return nil
}

// Reasons why an object is left out of the plan.
const (
	notFound     = "it does not exist; the next apply creates it"
	notDescribed = "the files do not describe it"
)

// mark makes a step mark an object, also if others change the object meanwhile. Nobody else may
// take it over.
func (r *reduction) mark(step *plan.Step, live *unstructured.Unstructured) error {
	desired := step.Want
	settled := desired == nil // an app describes only objects that it changes: this one is marked
	if settled {
		desired = live
	}
	set := r.newMarks(desired)
	frozen := step.Op == plan.Skip && step.ReasonCode == plan.ReasonCreateOnly
	if frozen || !r.isOwned(set) {
		r.cannotMark(step)
	}
	forgotten, err := false, error(nil)
	if !settled {
		forgotten, err = r.rememberDropped(desired, live, set)
	}
	if err != nil {
		return err
	}
	step.Leave()
	same, former := *step, r.adoption.From.Owners
	if r.plan.Keeper != nil && !settled && !forgotten {
		if err := r.addApplied(same, desired, live, set); err != nil {
			return err
		}
	}
	next, err := r.marked(same, live, set)
	if err != nil {
		return err
	}
	*step = *next
	step.Reverts = func(now *unstructured.Unstructured) (*plan.Step, error) {
		for _, o := range owner.Of(now) {
			if !o.Is(r.own) && !slices.ContainsFunc(former, o.Is) {
				return nil, fmt.Errorf("it was taken over meanwhile: it belongs to %s", o)
			}
		}
		if now.GetDeletionTimestamp() != nil {
			return nil, errors.New("it is being deleted")
		}
		again, err := r.marked(same, now, set)
		if err == nil {
			again.Reverts = step.Reverts
		}
		return again, err
	}
	return nil
}

// texts are labels and annotations, by the name of their field in metadata.
type texts map[string]map[string]any

// addApplied adds what objects say about what was applied to them, unless it would hide that the
// object differs from its manifest.
func (r *reduction) addApplied(
	step plan.Step, desired, live *unstructured.Unstructured, set texts,
) error {
	if r.differing.Has(step.Ref) {
		return nil
	}
	marked, err := r.marked(step, live, set)
	if err != nil {
		return err
	}
	for key, value := range r.plan.Kept(desired, marked.Want) {
		set["annotations"][key] = value
	}
	return nil
}

// marked returns the step that marks a live object.
func (r *reduction) marked(
	step plan.Step, live *unstructured.Unstructured, set texts,
) (*plan.Step, error) {
	metadata := r.changes(step.Ref, live, set)
	want := object.WithMetadata(live, func(fields map[string]any) {
		for field, changes := range metadata {
			fields[field] = withTexts(fields[field], changes.(map[string]any))
		}
		delete(fields, "managedFields")
	})
	managers, moved, err := diff.MoveManagers(live.GetManagedFields(), r.adoption.From.Managers,
		r.plan.Manager)
	if err != nil {
		return nil, err
	}
	if len(moved) > 0 {
		metadata["managedFields"] = managers
	}
	step.Have, step.Want = live, live
	if len(metadata) == 0 {
		return &step, nil
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	step.Op, step.Want = plan.Update, want
	step.Patch = diff.Patch{Type: types.MergePatchType, Data: data}
	if !step.HoldsSecret() {
		step.Diff = diff.Between(live, want, diff.Options{IgnoreAnnotations: ownAnnotations})
	}
	return &step, err
}

// changes returns the labels and annotations that change; nil removes one. What the manifest has is
// not removed.
func (r *reduction) changes(
	ref object.Ref, live *unstructured.Unstructured, set texts,
) map[string]any {
	metadata := map[string]any{}
	described, _ := r.described[ref].(map[string]any)
	for field, remove := range map[string][]string{
		"labels": r.marks.NoLabels, "annotations": r.marks.NoAnnotations,
	} {
		have, _, _ := unstructured.NestedMap(live.Object, "metadata", field)
		manifest, _ := described[field].(map[string]any)
		changes := map[string]any{}
		for key, value := range set[field] {
			if have[key] != value {
				changes[key] = value
			}
		}
		for _, key := range remove {
			_, has := have[key]
			_, keep := manifest[key]
			if _, is := set[field][key]; has && !is && !keep {
				changes[key] = nil
			}
		}
		if len(changes) > 0 {
			metadata[field] = changes
		}
	}
	return metadata
}

// withTexts returns labels or annotations after changes.
func withTexts(before any, changes map[string]any) map[string]any {
	have, _ := before.(map[string]any)
	after := maps.Clone(have)
	if after == nil {
		after = map[string]any{}
	}
	for key, value := range changes {
		after[key] = value
		if value == nil {
			delete(after, key)
		}
	}
	return after
}
