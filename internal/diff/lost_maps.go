package diff

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// LostMaps reports whether a stored object lacks a map that was applied without content, and that
// had some before. A server-side apply that takes out all content of a map removes the map as well;
// the same apply sets it again.
func LostMaps(applied, before, stored *unstructured.Unstructured) bool {
	return lostMaps(applied.Object, before.Object, stored.Object)
}

func lostMaps(applied, before, stored any) bool {
	switch applied := applied.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		is, exists := stored.(map[string]any)
		for key, value := range applied {
			if lostMaps(value, was[key], is[key]) {
				return true
			}
		}
		return len(applied) == 0 && len(was) > 0 && !exists
	case []any:
		was, _ := before.([]any)
		is, _ := stored.([]any)
		then := matchItems(applied, was, areNamed(applied) && areNamed(was))
		now := matchItems(applied, is, areNamed(applied) && areNamed(is))
		for i, item := range applied {
			if then[i] >= 0 && now[i] >= 0 && lostMaps(item, was[then[i]], is[now[i]]) {
				return true
			}
		}
	}
	return false
}

// WithLostMaps returns a stored object with the maps that LostMaps finds, as the same apply would
// set them again.
func WithLostMaps(applied, before, stored *unstructured.Unstructured) *unstructured.Unstructured {
	if !LostMaps(applied, before, stored) {
		return stored
	}
	stored = stored.DeepCopy()
	restoreMaps(applied.Object, before.Object, stored.Object)
	return stored
}

// restoreMaps sets the maps that are lost, in place.
func restoreMaps(applied, before, stored any) {
	switch applied := applied.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		is, isMap := stored.(map[string]any)
		for key, value := range applied {
			if !isMap || !lostMaps(value, was[key], is[key]) {
				continue
			}
			if _, exists := is[key]; !exists {
				is[key] = map[string]any{}
			}
			restoreMaps(value, was[key], is[key])
		}
	case []any:
		was, _ := before.([]any)
		is, _ := stored.([]any)
		then := matchItems(applied, was, areNamed(applied) && areNamed(was))
		now := matchItems(applied, is, areNamed(applied) && areNamed(is))
		for i, item := range applied {
			if then[i] >= 0 && now[i] >= 0 {
				restoreMaps(item, was[then[i]], is[now[i]])
			}
		}
	}
}
