package plan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff"
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

// refusal returns the reason why an object must not be changed, or "". The hint is for objects
// without an owner.
func (o Owner) refusal(live *unstructured.Unstructured, hint string) (ReasonCode, string) {
	if o.Annotation == "" || live == nil || o.Adoption == AdoptAll {
		return "", ""
	}
	owner := live.GetAnnotations()[o.Annotation]
	switch {
	case owner == o.ID:
		return "", ""
	case owner != "":
		return ReasonForeign, fmt.Sprintf("it belongs to another inventory (%s: %s)", o.Annotation, owner)
	case o.Adoption == AdoptUnowned:
		return "", ""
	default:
		reason := fmt.Sprintf("it exists and belongs to no inventory (no %s annotation)", o.Annotation)
		if hint != "" {
			reason += "; " + hint
		}
		return ReasonUnowned, reason
	}
}

// Owns reports whether an object carries the mark of the set. Without ownership all objects do.
func (o Owner) Owns(live *unstructured.Unstructured) bool {
	return o.Annotation == "" || live.GetAnnotations()[o.Annotation] == o.ID
}

// mark returns a copy of the object with the owner's annotation.
func (o Owner) mark(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := obj.DeepCopy()
	if o.Annotation != "" {
		annotate(marked, o.Annotation, o.ID)
	}
	return marked
}

// releasePatch returns the patch that removes the owner's annotation, or a zero patch if the object
// does not carry it. The patch fails on an object that was recreated.
func (o Owner) releasePatch(live *unstructured.Unstructured) diff.Patch {
	if o.Annotation == "" || live.GetAnnotations()[o.Annotation] != o.ID {
		return diff.Patch{}
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         live.GetUID(),
		"annotations": map[string]any{o.Annotation: nil},
	}})
	if err != nil {
		panic(fmt.Sprintf("marshal a map of strings: %v", err)) // cannot happen
	}
	return diff.Patch{Type: types.MergePatchType, Data: data}
}
