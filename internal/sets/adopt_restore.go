package sets

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/adopt"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// undoInfo returns what an undo needs: what an interrupted run has stored, which began from an
// earlier state, and what the plan changes beside that.
func (a *Adoption) undoInfo(o *adoptOperation) *undoInfo {
	undo, p := a.undo, o.Plan()
	if undo == nil {
		undo = &undoInfo{Request: a.request.From, From: *a.From}
	}
	known := object.NewSet()
	for _, obj := range undo.Objects {
		known.Insert(obj.Ref)
	}
	for _, step := range p.Steps {
		if step.Op == plan.Update && !known.Has(step.Ref) {
			undo.Objects = append(undo.Objects, undoneObject(step, a.From.Managers, p.Manager))
		}
	}
	return undo
}

// undoneObject returns what an undo restores of the object of a step.
func undoneObject(step plan.Step, managers []string, manager string) adoptedObject {
	obj := adoptedObject{
		Ref: step.Ref, Version: step.Have.GroupVersionKind().Version, UID: step.Have.GetUID(),
		Labels:      earlierTexts(step.Want.GetLabels(), step.Have.GetLabels()),
		Annotations: earlierTexts(step.Want.GetAnnotations(), step.Have.GetAnnotations()),
		Manager:     manager,
	}
	if _, moved, err := diff.MoveManagers(step.Have.GetManagedFields(), managers,
		manager); err == nil { // the plan has moved them
		obj.Managers = moved
	}
	return obj
}

// earlierTexts returns the values before a change of the texts that it changes; nil for none.
func earlierTexts(after, before map[string]string) map[string]*string {
	earlier := map[string]*string{}
	for key, value := range before {
		if now, has := after[key]; !has || now != value {
			earlier[key] = &value
		}
	}
	for key := range after {
		if _, has := before[key]; !has {
			earlier[key] = nil
		}
	}
	return earlier
}

// makeChange changes one object of a record. One that is gone is no error.
func makeChange(ctx context.Context, c Cluster, change adopt.RecordChange) error {
	_, err := c.Write(ctx, cluster.Write{
		Object: namedObject(change.Ref, change.Version), Method: cluster.Patch,
		PatchType: types.MergePatchType, Patch: change.Patch, UID: change.UID,
		Manager: HistoryManager,
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// restoreObject restores the marks and the field managers of one object. It reports whether the
// object is still the same one.
func restoreObject(ctx context.Context, c Cluster, obj adoptedObject) (same bool, err error) {
	err = cluster.RetryOnConflict(func() error {
		found, err := c.Read(ctx, []cluster.Target{
			{Ref: obj.Ref, Version: obj.Version, ManagedFields: true}})
		if err != nil {
			return err
		}
		live := found.Objects[obj.Ref]
		if same = live != nil && live.GetUID() == obj.UID; !same {
			return nil
		}
		if texts := obj.texts(); len(texts) > 0 {
			live, err = patchMetadata(ctx, c, obj.Manager, live, texts)
		}
		if err != nil || len(obj.Managers) == 0 {
			return err
		}
		// Only now does the manager own the restored texts, which it returns with all others.
		returned, err := diff.ReturnManagers(live.GetManagedFields(), obj.Managers, obj.Manager)
		if err != nil {
			return err
		}
		_, err = patchMetadata(ctx, c, obj.Manager, live, map[string]any{"managedFields": returned})
		return err
	}, func(error) error { return nil }, nil)
	return same, err
}

// texts returns the labels and annotations that an undo changes; a field without any is left out,
// since null would delete all of it.
func (o adoptedObject) texts() map[string]any {
	texts := map[string]any{}
	if len(o.Labels) > 0 {
		texts["labels"] = o.Labels
	}
	if len(o.Annotations) > 0 {
		texts["annotations"] = o.Annotations
	}
	return texts
}

// patchMetadata changes the metadata of an object that has not changed, and returns the object with
// its managed fields.
func patchMetadata(
	ctx context.Context, c Cluster, manager string, live *unstructured.Unstructured,
	metadata map[string]any,
) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	return c.Write(ctx, cluster.Write{
		Object: live, Method: cluster.Patch, PatchType: types.MergePatchType, Patch: patch,
		UID: live.GetUID(), Version: live.GetResourceVersion(), Manager: manager,
	})
}
