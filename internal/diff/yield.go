package diff

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// LeaveOutRivals removes from a desired object, in place, what an obstacle of Obstacles cannot be
// beside, with the maps and lists that it leaves empty. It reports whether that is known. The
// object must not share values with others.
func (f ContestedField) LeaveOutRivals(want *unstructured.Unstructured) bool {
	for _, path := range f.rivals {
		removeAt(want.Object, path)
	}
	return len(f.rivals) > 0
}

// keepObstacle puts an obstacle of a live object into a desired one, in place, after
// LeaveOutRivals.
func (f ContestedField) keepObstacle(want, live *unstructured.Unstructured) {
	value, ok := valueAt(live.Object, f.path)
	last := len(f.path) - 1
	switch {
	case !ok:
	case f.path[last].FieldName != nil:
		insertAt(want.Object, f.path, runtime.DeepCopyJSONValue(value))
	default: // an item of a list
		list, _ := valueAt(want.Object, f.path[:last])
		items, _ := list.([]any)
		items = append(slices.Clone(items), runtime.DeepCopyJSONValue(value))
		insertAt(want.Object, f.path[:last], items)
	}
}

// removeAt removes the value at a path, with the maps and lists that it leaves empty. It returns
// the value without that; nil if nothing is left.
func removeAt(value any, path fieldpath.Path) any {
	switch v := value.(type) {
	case map[string]any:
		if path[0].FieldName == nil {
			return v
		}
		name := *path[0].FieldName
		inner, has := v[name]
		if has && len(path) > 1 {
			inner = removeAt(inner, path[1:])
		}
		if v[name] = inner; !has || len(path) == 1 || inner == nil {
			delete(v, name)
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case []any:
		at := indexOf(v, path[0])
		switch {
		case at < 0:
		case len(path) == 1:
			v = slices.Delete(v, at, at+1)
		default:
			removeAt(v[at], path[1:]) // an item has its key at least
		}
		if len(v) == 0 {
			return nil
		}
		return v
	}
	return value
}
