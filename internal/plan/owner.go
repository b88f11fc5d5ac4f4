package plan

import (
	"encoding/json"
	"fmt"

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
	if o.Annotation == "" || live == nil {
		return "", ""
	}
	adoption := o.adoptionOf(live)
	if adoption == AdoptAll {
		return "", ""
	}
	others := o.others(live, applied)
	switch {
	case others.Text != "":
		return ReasonForeign, withHint("it belongs to "+others.Text, foreign)
	case o.Owns(live) || adoption == AdoptUnowned:
		return "", ""
	default:
		return ReasonUnowned, withHint(
			fmt.Sprintf("it exists and belongs to no inventory (no %s annotation)", o.Annotation), unowned)
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
	id := object.AnnotationsOf(live).Get(o.Annotation)
	if id == "" || id == o.ID {
		return Others{}
	}
	return Others{Text: fmt.Sprintf("another inventory (%s: %s)", o.Annotation, id)}
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

// Owns reports whether an object carries the mark of the set. Without ownership all objects do.
func (o Owner) Owns(live *unstructured.Unstructured) bool {
	return o.Annotation == "" || object.AnnotationsOf(live).Get(o.Annotation) == o.ID
}

// mark returns a copy of the object with the owner's annotation.
func (o Owner) mark(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := obj.DeepCopy()
	if o.Annotation != "" {
		annotate(marked, o.Annotation, o.ID)
	}
	return marked
}

// releasePatch returns the patch that removes the owner's annotation and the owner references to
// the record from an object, or a zero patch if it has neither. The patch fails on an object that
// was recreated.
func (o Owner) releasePatch(live *unstructured.Unstructured) diff.Patch {
	metadata := map[string]any{}
	if o.Annotation != "" && object.AnnotationsOf(live).Get(o.Annotation) == o.ID {
		metadata["annotations"] = map[string]any{o.Annotation: nil}
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
