package apps

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
)

// Ownership is what an update does with fields that others own.
type Ownership struct {
	Contested []plan.Contest
	Replicas  string // why the replicas are left to an autoscaler; empty if they are not
}

// Ownership returns what a change does with fields that others own.
func (r *Run) Ownership(c *change.Change) Ownership { return r.owned[object.RefOf(c.Object())] }

// recordedForm returns the object that is recorded as applied to a live one: the described one with
// the live values of the fields that are left to others. Otherwise the next deployment would find
// nothing to change when they are not left any more.
func (r *Run) recordedForm(
	c *change.Change, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	owned := r.Ownership(c)
	obj := c.New
	for _, contest := range owned.Contested {
		if contest.Left {
			obj = obj.DeepCopy()
			contest.Keep(obj, live)
		}
	}
	if owned.Replicas != "" {
		obj = obj.DeepCopy()
		plan.KeepReplicas(obj, live)
	}
	obj, err := r.options.Ignore.KeepDescribed(obj, live)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", object.RefOf(c.New), err)
	}
	return obj, nil
}

// setOwnership sets what the step of an update or of an unchanged object does with fields that
// others own.
func (r *Run) setOwnership(step *plan.Step, c *change.Change) (err error) {
	owned := r.Ownership(c)
	step.Contested = owned.Contested
	if owned.Replicas != "" && step.Reason == "" && hasReplicas(c.New) {
		step.Reason = owned.Replicas
	}
	if step.Op == plan.Update && r.options.ServerSide && len(step.Patch.Data) == 0 {
		step.Want, err = r.options.Ignore.LeaveOut(owned.leaveOut(step.Want, c.Existing), c.Existing,
			diff.Applier{Manager: Manager, Updates: true})
		if err == nil {
			step.Disown = staleData(step).Removal(step.Have, step.Want)
			step.Obstacles, err = r.obstacles(c, nil)
		}
	}
	return err
}

// obstacles returns what is in the way of the server-side apply of a change. Maps are those that
// the server accepts with one field only.
func (r *Run) obstacles(c *change.Change, maps []string) ([]diff.ContestedField, error) {
	want, err := r.recordedForm(c, c.Existing)
	if err != nil {
		return nil, err
	}
	return plan.Obstacles(diff.Comparison{
		Want: want, Live: c.Existing, Base: lastapplied.Original(c.Existing), Manager: Manager,
		Operation: metav1.ManagedFieldsOperationApply, TooMany: maps,
	}, sets.New(Manager))
}

// staleData returns the data of a Secret that a server-side apply of a step does not remove.
func staleData(step *plan.Step) plan.Others {
	return plan.Others{StaleData: diff.StaleStringData(step.Have, step.Want, Manager)}
}

// hasReplicas reports whether an input says how many replicas there are.
func hasReplicas(input *unstructured.Unstructured) bool {
	if input == nil {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(input.Object, "spec", "replicas")
	return found
}

// leaveOut returns what a server-side apply sends: without the fields that are left to others, and
// with the live replicas, which the server would remove otherwise.
func (o Ownership) leaveOut(sent, live *unstructured.Unstructured) *unstructured.Unstructured {
	sent = sent.DeepCopy()
	for _, c := range o.Contested {
		if c.Left {
			c.LeaveOut(sent)
		}
	}
	if o.Replicas != "" {
		plan.KeepReplicas(sent, live)
	}
	return sent
}

// adjust returns the object that an update sends, with the live values of the fields that are left
// to others.
func (r *Run) adjust(
	live, before, after *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	ref := object.RefOf(live)
	if ref != object.RefOf(after) {
		return after, nil // a new version of the object
	}
	if r.options.KeepAdded {
		after = lastapplied.KeepGenerated(r.keepMetadata(live, after), before)
		after = lastapplied.KeepDefaults(after, before)
		if !r.options.ServerSide && lastapplied.Original(live) == nil && !isMember(r.app, live) {
			var err error
			if after, err = takenOver(live, before, after); err != nil {
				return nil, err
			}
		}
	}
	after, err := r.options.Ignore.Keep(after, live)
	if err != nil {
		return nil, fmt.Errorf("keep ignored fields of %s: %w", ref, err)
	}
	var owned Ownership
	after, owned.Replicas = plan.LeaveReplicas(after, live, r.scalers[ref])
	if len(live.GetManagedFields()) > 0 {
		after, owned.Contested, err = r.settleConflicts(live, after)
	}
	r.owned[ref] = owned
	return after, err
}

// takenOver returns the object that an app makes of one that others have deployed: fields which it
// does not describe stay, as those that the server has filled in and nobody can change, unless
// kubectl or a package has applied them.
func takenOver(live, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	applied := &unstructured.Unstructured{}
	text, _ := object.AnnotationsOf(live).Lookup(resource.AnnKubectlApplied)
	if applied.UnmarshalJSON([]byte(text)) != nil {
		applied = nil // it is not known
	}
	applied = diff.WithFormerNames(applied, after, before)
	_, merged, err := diff.ThreeWay(applied, after, before)
	if err != nil {
		return nil, fmt.Errorf("take over %s: %w", object.RefOf(live), err)
	}
	merged = merged.DeepCopy()
	merged.SetLabels(after.GetLabels())
	merged.SetAnnotations(after.GetAnnotations())
	return merged, nil
}

// keepMetadata returns the object that an update sends with the labels and annotations of the live
// one that were not applied last: controllers record there what they did. The marks of other owners
// are not kept. Of an object that the app adopts all are kept that it does not set.
func (r *Run) keepMetadata(live, after *unstructured.Unstructured) *unstructured.Unstructured {
	base := lastapplied.Original(live)
	if base == nil {
		base = &unstructured.Unstructured{Object: map[string]any{}}
	}
	noLabels, noAnnotations := owner.MarksOf(othersOf(r.app, after, live))
	labels := withAdded(live.GetLabels(), base.GetLabels(), after.GetLabels(), noLabels)
	annotations := withAdded(live.GetAnnotations(), base.GetAnnotations(), after.GetAnnotations(),
		append(lastapplied.Annotations(), noAnnotations...))
	if labels == nil && annotations == nil {
		return after
	}
	after = after.DeepCopy()
	if labels != nil {
		after.SetLabels(labels)
	}
	if annotations != nil {
		after.SetAnnotations(annotations)
	}
	return after
}

// withAdded returns the wanted values with the live ones that were neither applied nor are wanted,
// but those with some keys; nil if there are none.
func withAdded(live, base, want map[string]string, without []string) map[string]string {
	var all map[string]string
	for key, value := range live {
		_, applied := base[key]
		_, wanted := want[key]
		if applied || wanted || slices.Contains(without, key) {
			continue
		}
		if all == nil {
			all = map[string]string{}
			maps.Copy(all, want)
		}
		all[key] = value
	}
	return all
}

// settleConflicts returns the contested fields of an update of a live object with managed fields,
// and the object that is sent.
func (r *Run) settleConflicts(
	live, after *unstructured.Unstructured,
) (*unstructured.Unstructured, []plan.Contest, error) {
	base := lastapplied.Original(live)
	if base == nil {
		return after, nil, nil // nothing was applied that others could have changed
	}
	after, contests, err := r.options.Conflicts.Settle(diff.Comparison{
		Want: after, Merged: true, Live: live, Base: base, Manager: Manager,
		IgnoreAnnotations: lastapplied.Annotations(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("find the owners of fields: %w", err)
	}
	return after, contests, nil
}

// findOwners reads the managed fields of the objects that are updated although others have changed
// them, and finds the contested fields.
func (r *Run) findOwners(ctx context.Context) error {
	var targets []cluster.Target
	after := map[object.Ref]*unstructured.Unstructured{}
	for _, c := range r.changes {
		if r.options.Conflicts != plan.NoteConflicts || c.ApplyOp() != change.Update ||
			c.Existing == nil || len(c.Existing.GetManagedFields()) > 0 {
			continue
		}
		if _, same := lastapplied.Base(c.Existing, r.config); !same {
			ref := object.RefOf(c.Existing)
			after[ref] = c.Applied
			targets = append(targets, cluster.Target{
				Ref: ref, Version: c.Existing.GroupVersionKind().Version, ManagedFields: true,
			})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	snapshot, err := r.Cluster.Read(ctx, targets)
	if err != nil {
		return fmt.Errorf("read the owners of fields: %w", err)
	}
	for ref, live := range snapshot.Objects {
		_, contests, err := r.settleConflicts(live, after[ref])
		if err != nil {
			return err
		}
		owned := r.owned[ref]
		owned.Contested = contests
		r.owned[ref] = owned
	}
	return nil
}

// findScalers finds the autoscalers of the workloads that would get other replicas: those of the
// inputs, and those of the cluster in the same namespaces.
func (r *Run) findScalers(ctx context.Context, existing, inputs []liveObject) error {
	if !r.options.LeaveReplicas {
		return nil
	}
	live := make(map[object.Ref]liveObject, len(existing))
	recorded := make([]object.Ref, len(existing))
	for i, obj := range existing {
		recorded[i] = object.RefOf(obj)
		live[recorded[i]] = obj
	}
	in := plan.Input{Recorded: recorded, Policy: plan.Policy{LeaveReplicas: true}}
	namespaces := map[string]bool{}
	for _, obj := range inputs {
		in.Desired = append(in.Desired, plan.Desired{Object: obj})
		if now := live[object.RefOf(obj)]; now != nil && plan.Rescales(obj, now) {
			namespaces[obj.GetNamespace()] = true
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	var err error
	in.Autoscalers, err = engine.Autoscalers(ctx, r.Cluster, slices.Sorted(maps.Keys(namespaces)))
	r.scalers = in.AutoscalersByTarget()
	return err
}
