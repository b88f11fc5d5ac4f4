package sets

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
)

// undoInfo returns what an undo needs: what an interrupted run has stored, which began from an
// earlier state, and what the plan changes beside that.
func (a *Adoption) undoInfo(p *plan.Plan) *undoInfo {
	undo := a.undo
	if undo == nil {
		undo = &undoInfo{Request: a.request.From, From: *a.From}
	}
	known := object.NewSet()
	for _, obj := range undo.Objects {
		known.Insert(obj.Ref)
	}
	for _, step := range p.Steps {
		if step.Op == plan.Update && !known.Has(step.Ref) {
			obj := undoneObject(step, a.From.Managers, p.Manager)
			if step.HoldsSecret() && step.Ref.Namespace != a.store.namespace {
				obj.hideData()
			}
			undo.Objects = append(undo.Objects, obj)
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
func makeChange(ctx context.Context, c cluster.Writer, change adopt.RecordChange) error {
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
func restoreObject(
	ctx context.Context, c cluster.Writer, obj adoptedObject,
) (same bool, err error) {
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
		if texts := obj.texts(live); len(texts) > 0 {
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
// since null would delete all of it. Values of a Secret that are not kept come from the live one.
func (o adoptedObject) texts(live *unstructured.Unstructured) map[string]any {
	texts := map[string]any{}
	if len(o.Labels) > 0 {
		texts["labels"] = o.Labels
	}
	annotations := maps.Clone(o.Annotations)
	for _, key := range o.Hidden {
		if document := annotations[key]; document != nil {
			text := withDataOf(live, *document)
			annotations[key] = &text
		}
	}
	if len(annotations) > 0 {
		texts["annotations"] = annotations
	}
	return texts
}

// hideData removes the data of a Secret from the annotations that an undo restores: they are kept
// in another namespace, whose readers may not read the Secret. Of a text that is no document of the
// Secret nothing is kept, and the undo leaves the annotation alone.
func (o *adoptedObject) hideData() {
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		value := o.Annotations[key]
		if value == nil || owner.IsOwnMark(key) {
			continue
		}
		document := map[string]any{}
		if err := json.Unmarshal([]byte(*value), &document); err != nil {
			if strings.ContainsAny(*value, "{[\n") {
				delete(o.Annotations, key)
			}
			continue
		}
		for field := range document {
			if !object.IsPrivate(field) {
				continue
			}
			if values, isMap := document[field].(map[string]any); isMap {
				for name := range values {
					values[name] = ""
				}
			} else {
				delete(document, field)
			}
		}
		text, _ := json.Marshal(document) // it was read from JSON
		hidden := string(text)
		o.Annotations[key], o.Hidden = &hidden, append(o.Hidden, key)
	}
}

// withDataOf returns a document of a Secret whose values are those of the live one; keys that this
// does not have are left out.
func withDataOf(live *unstructured.Unstructured, text string) string {
	document := map[string]any{}
	if json.Unmarshal([]byte(text), &document) != nil {
		return text
	}
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	for _, field := range []string{"data", "stringData"} {
		values, _ := document[field].(map[string]any)
		for name := range values {
			value, has := data[name]
			decoded, err := base64.StdEncoding.DecodeString(value)
			switch {
			case !has || err != nil:
				delete(values, name)
			case field == "data":
				values[name] = value
			default:
				values[name] = string(decoded)
			}
		}
	}
	filled, err := json.Marshal(document)
	if err != nil {
		return text
	}
	return string(filled) + "\n" // as kubectl writes it
}

// patchMetadata changes the metadata of an object that has not changed, and returns the object with
// its managed fields.
func patchMetadata(
	ctx context.Context, c cluster.Writer, manager string, live *unstructured.Unstructured,
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
