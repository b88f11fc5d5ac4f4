package diff

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/object"
)

// The text in place of a hidden value: equal on both sides, or different if the values differ.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// Mask returns both objects with the content of Secrets hidden: "***" in place of every value under
// data and stringData, or "*** (before)" and "*** (after)" where both sides have a value and they
// differ. Mask also hides fields that a Secret should not have, and annotations that hold a
// document, which may be a copy of the Secret. It returns objects of other kinds unchanged. Either
// may be nil. The results share values with the arguments and must not be modified.
func Mask(
	have, want *unstructured.Unstructured,
) (*unstructured.Unstructured, *unstructured.Unstructured) {
	if !object.IsSecret(have) && !object.IsSecret(want) {
		return have, want
	}
	p := newMapPair(fieldsOrNil(have), fieldsOrNil(want))
	p.hide(func(field string, _ any) bool { return object.IsPrivate(field) })
	metadata := newMapPair(fieldsOf(p.old, "metadata"), fieldsOf(p.new, "metadata"))
	annotations := newMapPair(
		fieldsOf(metadata.old, "annotations"), fieldsOf(metadata.new, "annotations"),
	)
	annotations.hide(isDocument)
	metadata.put("annotations", annotations)
	p.put("metadata", metadata)
	return newObject(p.old), newObject(p.new)
}

// isDocument reports whether an annotation holds JSON or several lines.
func isDocument(_ string, value any) bool {
	s, _ := value.(string)
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || strings.Contains(s, "\n")
}

// mapPair is the same map of two objects; either may be nil. Both are copies that share their
// values with the objects.
type mapPair struct{ old, new map[string]any }

func newMapPair(old, new map[string]any) mapPair {
	return mapPair{maps.Clone(old), maps.Clone(new)}
}

// hide masks the values that are private on either side; of a map, each value by itself.
func (p mapPair) hide(private func(key string, value any) bool) {
	for key := range p.keys {
		if private(key, p.old[key]) || private(key, p.new[key]) {
			p.mask(key)
		}
	}
}

func (p mapPair) mask(key string) {
	values := newMapPair(fieldsOf(p.old, key), fieldsOf(p.new, key))
	if values.old == nil && p.old[key] != nil || values.new == nil && p.new[key] != nil {
		p.maskValue(key)
		return
	}
	for name := range values.keys {
		values.maskValue(name)
	}
	p.put(key, values)
}

// keys yields the keys of either side, each once.
func (p mapPair) keys(yield func(string) bool) {
	for key := range p.old {
		if !yield(key) {
			return
		}
	}
	for key := range p.new {
		if _, seen := p.old[key]; !seen && !yield(key) {
			return
		}
	}
}

func (p mapPair) maskValue(key string) {
	old, new := p.old[key], p.new[key]
	before, after := masked, masked
	if old != nil && new != nil && !jsonvalue.Equal(old, new) {
		before, after = maskedBefore, maskedAfter
	}
	if old != nil {
		p.old[key] = before
	}
	if new != nil {
		p.new[key] = after
	}
}

// put stores maps under a key on the sides where they exist.
func (p mapPair) put(key string, values mapPair) {
	if values.old != nil {
		p.old[key] = values.old
	}
	if values.new != nil {
		p.new[key] = values.new
	}
}

// fieldsOf returns the map under a key, or nil.
func fieldsOf(m map[string]any, key string) map[string]any {
	fields, _ := m[key].(map[string]any)
	return fields
}

func fieldsOrNil(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

func newObject(fields map[string]any) *unstructured.Unstructured {
	if fields == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: fields}
}
