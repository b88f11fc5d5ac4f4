package diff

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// MergeError reports a desired object that cannot be merged into the live one.
type MergeError struct {
	Field string // the field whose merge fails, in the form .spec.ports; empty if unknown
	Err   error
}

// Error returns the field and the reason, without values.
func (e *MergeError) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s: %v", e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *MergeError) Unwrap() error { return e.Err }

// locate returns a *MergeError with the innermost field whose merge fails: it merges one field
// after another alone.
func (m merge) locate(live *unstructured.Unstructured, in sides, err error) error {
	if m.meta == nil {
		return &MergeError{Err: err}
	}
	field, cause := locateIn(sides{in.recorded, in.want, live.Object}, m.meta, "", err)
	return &MergeError{field, cause}
}

func locateIn(
	in sides, meta strategicpatch.LookupPatchMeta, path string, err error,
) (string, error) {
	for _, key := range slices.Sorted(maps.Keys(in.want)) {
		only := func(fields map[string]any) map[string]any {
			if value, ok := fields[key]; ok {
				return map[string]any{key: value}
			}
			return map[string]any{}
		}
		alone := sides{only(in.recorded), only(in.want), only(in.live)}
		live := &unstructured.Unstructured{Object: alone.live}
		_, _, _, failed := merge{meta, meta}.between(live, alone)
		if failed == nil {
			continue
		}
		path := path + "." + key
		if inner, _, err := meta.LookupPatchMetadataForStruct(key); err == nil &&
			fieldsOf(in.want, key) != nil {
			below := sides{fieldsOf(in.recorded, key), fieldsOf(in.want, key), fieldsOf(in.live, key)}
			return locateIn(below, inner, path, failed)
		}
		l, inner, ok := keyedListOf(in, key, meta)
		if !ok {
			return path, failed
		}
		recorded, have := l.match(l.want, l.recorded), l.match(l.want, l.live)
		for i := range l.want {
			item := sides{itemAt(l.recorded, recorded[i]), itemAt(l.want, i), itemAt(l.live, have[i])}
			at := fmt.Sprintf("%s[%s=%v]", path, l.key, item.want[l.key])
			if found, cause := locateIn(item, inner, at, nil); cause != nil {
				return found, cause
			}
		}
		return path, failed
	}
	return path, err
}
