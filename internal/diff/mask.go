package diff

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// What stands for a hidden value: the same on both sides, or different on either side.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// Mask hides the content of Secrets: it gives both objects with every value under data and stringData replaced by "***", or by
// "*** (before)" and "*** (after)" where both sides have one and they differ. The same is done to any field that a Secret should
// not have, and to annotations that hold a document, since it may be a copy of the Secret. Objects of other kinds are given back
// as they are. Either may be nil. The results share values with the arguments and must not be modified.
func Mask(have, want *unstructured.Unstructured) (*unstructured.Unstructured, *unstructured.Unstructured) {
	if !isSecret(have) && !isSecret(want) {
		return have, want
	}
	p := clones(content(have), content(want))
	p.hide(isPrivate)
	metadata := clones(fieldsOf(p.old, "metadata"), fieldsOf(p.new, "metadata"))
	annotations := clones(fieldsOf(metadata.old, "annotations"), fieldsOf(metadata.new, "annotations"))
	annotations.hide(isDocument)
	metadata.put("annotations", annotations)
	p.put("metadata", metadata)
	return wrapped(p.old), wrapped(p.new)
}

func isSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// isPrivate reports whether a top-level field of a Secret must not be shown; what is not known is private.
func isPrivate(key string, _ any) bool {
	switch key {
	case "apiVersion", "kind", "metadata", "type", "immutable":
		return false
	}
	return true
}

// isDocument reports whether an annotation holds more than a word or a sentence: JSON, or several lines.
func isDocument(_ string, value any) bool {
	s, _ := value.(string)
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || strings.Contains(s, "\n")
}

// pair is the same map of two objects; either may be nil. They are copies whose values are shared with the objects.
type pair struct{ old, new map[string]any }

func clones(old, new map[string]any) pair {
	return pair{maps.Clone(old), maps.Clone(new)}
}

// hide masks the values that are private on either side; of a map, each value by itself.
func (p pair) hide(private func(key string, value any) bool) {
	for key := range p.keys {
		if private(key, p.old[key]) || private(key, p.new[key]) {
			p.mask(key)
		}
	}
}

func (p pair) mask(key string) {
	values := clones(fieldsOf(p.old, key), fieldsOf(p.new, key))
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
func (p pair) keys(yield func(string) bool) {
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

func (p pair) maskValue(key string) {
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

// put stores maps under a key on the sides that have one.
func (p pair) put(key string, values pair) {
	if values.old != nil {
		p.old[key] = values.old
	}
	if values.new != nil {
		p.new[key] = values.new
	}
}

// fieldsOf gives the map under a key, nil if there is none.
func fieldsOf(m map[string]any, key string) map[string]any {
	fields, _ := m[key].(map[string]any)
	return fields
}

func content(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

func wrapped(fields map[string]any) *unstructured.Unstructured {
	if fields == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: fields}
}
