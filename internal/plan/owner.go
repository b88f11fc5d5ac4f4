package plan

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// findAnnotation returns the first of the annotations that an object carries with the given value.
func findAnnotation(obj *unstructured.Unstructured, marks []Annotation) (Annotation, bool) {
	annotations := obj.GetAnnotations()
	for _, mark := range marks {
		if value, ok := annotations[mark.Key]; ok && value == mark.Value {
			return mark, true
		}
	}
	return Annotation{}, false
}

// refusal returns the reason why an object must not be changed, or "". Applied is as in Others;
// unowned and foreign are hints for objects without an owner and for objects of others.
func (o Owner) refusal(
	live, applied *unstructured.Unstructured, unowned, foreign string,
) (ReasonCode, string) {
	if !o.Marks() || live == nil {
		return "", ""
	}
	adoption := o.adoptionOf(live)
	if adoption == AdoptAll {
		return "", ""
	}
	others := o.others(live, applied)
	switch {
	case others.Text != "":
		return ReasonForeign, withHint(withHint("it belongs to "+others.Text, others.Advice), foreign)
	case o.Owns(live) || adoption == AdoptUnowned:
		return "", ""
	default:
		return ReasonUnowned, withHint(o.unownedText(), unowned)
	}
}

// adoptionOf returns the degree of adoption for a live object.
func (o Owner) adoptionOf(live *unstructured.Unstructured) Adoption {
	if o.Adopts.Has(object.RefOf(live)) {
		return AdoptAll
	}
	return o.Adoption
}

func withHint(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// others returns the other owners of a live object.
func (o Owner) others(live, applied *unstructured.Unstructured) Others {
	if live == nil {
		return Others{}
	}
	if o.Others != nil {
		return o.Others(live, applied)
	}
	id, _ := o.markOn(live)
	if id == "" || id == o.ID {
		return Others{}
	}
	_, key := o.mark()
	return Others{Text: fmt.Sprintf("another inventory (%s: %s)", key, id)}
}

// adopts returns the owners that the set takes an object from: all but the set itself, if it may
// adopt the objects of others.
func (o Owner) adopts(live, want *unstructured.Unstructured) Others {
	if live == nil || o.adoptionOf(live) != AdoptAll || o.Others == nil {
		return Others{}
	}
	return o.others(live, want)
}

// withMarks returns what was applied last with the marks of former owners, so that a merge removes
// those that are not desired.
func (o Others) withMarks(applied, live *unstructured.Unstructured) *unstructured.Unstructured {
	if len(o.Labels)+len(o.Annotations) == 0 {
		return applied
	}
	marked := &unstructured.Unstructured{Object: map[string]any{}}
	if applied != nil {
		marked = applied.DeepCopy()
	}
	for field, keys := range map[string][]string{"labels": o.Labels, "annotations": o.Annotations} {
		for _, key := range keys {
			value, ok, _ := unstructured.NestedString(live.Object, "metadata", field, key)
			if ok { // metadata of an applied object is a map
				_ = unstructured.SetNestedField(marked.Object, value, "metadata", field, key)
			}
		}
	}
	return marked
}

// withMaps returns a desired object with the maps that hold the marks, so that a merge removes the
// marks alone and not these maps.
func (o Others) withMaps(want *unstructured.Unstructured) *unstructured.Unstructured {
	if len(o.Labels)+len(o.Annotations) == 0 {
		return want
	}
	want = want.DeepCopy()
	for _, field := range []string{"labels", "annotations"} {
		if _, has, _ := unstructured.NestedFieldNoCopy(want.Object, "metadata", field); !has {
			_ = unstructured.SetNestedMap(want.Object, map[string]any{}, "metadata", field)
		}
	}
	return want
}

// Removal returns the patch that removes the marks, and the stale data of a Secret, from an object
// that others have not recreated, or a zero patch if there are none.
func (o Others) Removal(live, want *unstructured.Unstructured) diff.Patch {
	metadata, fields := map[string]any{}, map[string]any{}
	for field, keys := range map[string][]string{"labels": o.Labels, "annotations": o.Annotations} {
		removed := map[string]any{}
		for _, key := range keys {
			_, has, _ := unstructured.NestedString(live.Object, "metadata", field, key)
			_, wanted, _ := unstructured.NestedString(want.Object, "metadata", field, key)
			if has && !wanted {
				removed[key] = nil
			}
		}
		if len(removed) > 0 {
			metadata[field] = removed
		}
	}
	if len(o.StaleData) > 0 {
		removed := make(map[string]any, len(o.StaleData))
		for _, key := range o.StaleData {
			removed[key] = nil
		}
		fields["data"] = removed
	}
	if len(metadata)+len(fields) == 0 {
		return diff.Patch{}
	}
	metadata["uid"], fields["metadata"] = live.GetUID(), metadata
	data, err := json.Marshal(fields)
	if err != nil {
		panic(fmt.Sprintf("marshal a map of strings: %v", err)) // cannot happen
	}
	return diff.Patch{Type: types.MergePatchType, Data: data}
}

// movedFields returns the managed fields of an object that the set takes from its owner, with the
// fields of the managers that have set the marks of this as those of the manager of the set: a
// later server-side apply would conflict with them. It returns nil if nothing changes.
func (w writeMode) movedFields(
	live *unstructured.Unstructured, former Others,
) ([]metav1.ManagedFieldsEntry, error) {
	if !w.owner.Adopts.Has(object.RefOf(live)) {
		return nil, nil
	}
	managers := diff.ManagersOf(live, former.Labels, former.Annotations)
	entries, moved, err := diff.MoveManagers(live.GetManagedFields(), managers, w.manager)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return entries, nil
}

// handOver adds the moved fields to the patch of an object that the set takes from its owner.
func (w writeMode) handOver(
	m merged, live *unstructured.Unstructured, former Others,
) (merged, error) {
	entries, err := w.movedFields(live, former)
	if err != nil || entries == nil {
		return m, err
	}
	err = m.changePatch(func(fields map[string]any) error {
		metadata, _ := fields["metadata"].(map[string]any)
		if metadata == nil { // the patch removes no mark
			return nil
		}
		metadata["managedFields"] = entries
		return nil
	})
	return m, err
}

// handover returns the patch that moves fields before a server-side apply; a zero patch for none.
func (w writeMode) handover(
	live *unstructured.Unstructured, former Others,
) (diff.Patch, error) {
	entries, err := w.movedFields(live, former)
	if err != nil || entries == nil {
		return diff.Patch{}, err
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": live.GetUID(), "managedFields": entries},
	})
	return diff.Patch{Type: types.MergePatchType, Data: data}, err
}

// Marks reports whether the set marks its objects.
func (o Owner) Marks() bool { return o.Annotation != "" || o.Label != "" }

// mark returns the key of the mark, and the field of the metadata that has it.
func (o Owner) mark() (field, key string) {
	if o.Label != "" {
		return "labels", o.Label
	}
	return "annotations", o.Annotation
}

// markText returns what messages call the mark.
func (o Owner) markText() string {
	if o.Label != "" {
		return fmt.Sprintf("label %s=%s", o.Label, o.ID)
	}
	return fmt.Sprintf("annotation %s of this inventory", o.Annotation)
}

// unownedText returns what is said of an object without an owner.
func (o Owner) unownedText() string {
	if o.Label != "" {
		return fmt.Sprintf("it exists and belongs to no app (no label %s)", o.Label)
	}
	return fmt.Sprintf("it exists and belongs to no inventory (no %s annotation)", o.Annotation)
}

// markOn returns the mark that an object carries: the ID of a set; ok is false if it has none.
func (o Owner) markOn(obj *unstructured.Unstructured) (id string, ok bool) {
	if o.Label != "" {
		return object.LabelsOf(obj).Lookup(o.Label)
	}
	return object.AnnotationsOf(obj).Lookup(o.Annotation)
}

// Owns reports whether an object carries the mark of the set. Without ownership all objects do.
func (o Owner) Owns(live *unstructured.Unstructured) bool {
	if !o.Marks() {
		return true
	}
	id, ok := o.markOn(live)
	return id == o.ID || !ok && o.Unmarked != nil && o.Unmarked(live)
}

// marked returns a copy of the object with the mark.
func (o Owner) marked(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := obj.DeepCopy()
	switch {
	case o.Label != "":
		labels := marked.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[o.Label] = o.ID
		marked.SetLabels(labels)
	case o.Annotation != "":
		annotate(marked, o.Annotation, o.ID)
	}
	return marked
}

// releasePatch returns the patch that removes the mark and the owner references to the record from
// an object, or a zero patch if it has neither. The patch fails on an object that was recreated.
func (o Owner) releasePatch(live *unstructured.Unstructured) diff.Patch {
	metadata := map[string]any{}
	if id, _ := o.markOn(live); o.Marks() && id == o.ID {
		field, key := o.mark()
		removed := map[string]any{key: nil}
		if o.Orphaned != "" {
			removed[o.Orphaned] = ""
		}
		metadata[field] = removed
	}
	if rest, has := object.WithoutOwners(live, o.Records); has {
		metadata["ownerReferences"] = rest
	}
	if len(metadata) == 0 {
		return diff.Patch{}
	}
	metadata["uid"] = live.GetUID()
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		panic(fmt.Sprintf("marshal metadata of an object: %v", err)) // cannot happen
	}
	return diff.Patch{Type: types.MergePatchType, Data: data}
}
