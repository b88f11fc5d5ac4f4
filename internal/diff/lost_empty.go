package diff

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// LostEmpty reports whether a stored object lacks a map or a list that was applied without content,
// and that had some before. A server-side apply that takes out all content of one removes it as
// well; the same apply sets it again.
func LostEmpty(applied, before, stored *unstructured.Unstructured) bool {
	return lostEmpty(applied.Object, before.Object, stored.Object)
}

func lostEmpty(applied, before, stored any) bool {
	switch applied := applied.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		is, exists := stored.(map[string]any)
		for key, value := range applied {
			if lostEmpty(value, was[key], is[key]) {
				return true
			}
		}
		return len(applied) == 0 && len(was) > 0 && !exists
	case []any:
		was, _ := before.([]any)
		is, exists := stored.([]any)
		then := matchItems(applied, was, areNamed(applied) && areNamed(was))
		now := matchItems(applied, is, areNamed(applied) && areNamed(is))
		for i, item := range applied {
			if then[i] >= 0 && now[i] >= 0 && lostEmpty(item, was[then[i]], is[now[i]]) {
				return true
			}
		}
		return len(applied) == 0 && len(was) > 0 && !exists
	}
	return false
}

// WithLostEmpty returns a stored object with what LostEmpty finds, as the same apply would set it
// again.
func WithLostEmpty(applied, before, stored *unstructured.Unstructured) *unstructured.Unstructured {
	if !LostEmpty(applied, before, stored) {
		return stored
	}
	stored = stored.DeepCopy()
	restoreEmpty(applied.Object, before.Object, stored.Object)
	return stored
}

// restoreEmpty sets the maps and lists that are lost, in place.
func restoreEmpty(applied, before, stored any) {
	switch applied := applied.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		is, isMap := stored.(map[string]any)
		for key, value := range applied {
			if !isMap || !lostEmpty(value, was[key], is[key]) {
				continue
			}
			_, exists := is[key]
			switch _, isList := value.([]any); {
			case exists:
			case isList:
				is[key] = []any{}
			default:
				is[key] = map[string]any{}
			}
			restoreEmpty(value, was[key], is[key])
		}
	case []any:
		was, _ := before.([]any)
		is, _ := stored.([]any)
		then := matchItems(applied, was, areNamed(applied) && areNamed(was))
		now := matchItems(applied, is, areNamed(applied) && areNamed(is))
		for i, item := range applied {
			if then[i] >= 0 && now[i] >= 0 {
				restoreEmpty(item, was[then[i]], is[now[i]])
			}
		}
	}
}
