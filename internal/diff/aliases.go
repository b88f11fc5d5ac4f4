package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// WithFormerNames returns what was applied last, which may be nil, with the other names of fields
// of a live object, so that a merge that removes the fields under one name, or sets them to
// nothing, removes them under both.
func WithFormerNames(applied, want, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live.GetAPIVersion() != want.GetAPIVersion() {
		return applied // their fields cannot be compared
	}
	in := sidesOf(applied, want, live)
	paths := formerNames(in, want)
	if len(paths) == 0 {
		return applied
	}
	return &unstructured.Unstructured{Object: in.recording(paths).recorded}
}

// formerNames returns the other names of fields of a live object that a merge removes: the server
// has set them as well, and would set the fields by them again. It returns the fields themselves
// where the desired object has another value under the former name, which the server would ignore.
func formerNames(in sides, want *unstructured.Unstructured) (paths []fieldpath.Path) {
	if of, ok := builtin.TypeMeta(want.GroupVersionKind()); ok {
		kind := want.GroupVersionKind().GroupKind().String()
		findFormerNames(in, of, kind, nil, &paths)
	}
	return paths
}

// findFormerNames does the same for the fields at a path of an object of a kind.
func findFormerNames(
	in sides, meta strategicpatch.LookupPatchMeta, kind string, path fieldpath.Path,
	paths *[]fieldpath.Path,
) {
	for _, alias := range builtin.AliasesOf(meta) {
		for _, name := range []string{alias.Field, alias.Former} {
			if !in.has(name) && in.removes(alias, kind) {
				*paths = append(*paths, below(path, fieldpath.PathElement{FieldName: &name}))
			}
		}
		if !isUnset(in.want[alias.Former]) && isUnset(in.want[alias.Field]) &&
			in.live[alias.Field] != nil &&
			!jsonvalue.Equal(in.live[alias.Field], in.want[alias.Former]) {
			*paths = append(*paths, below(path, fieldpath.PathElement{FieldName: &alias.Field}))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in.live)) {
		inside := sides{fieldsOf(in.recorded, key), fieldsOf(in.want, key), fieldsOf(in.live, key)}
		if inside.live == nil || inside.recorded == nil && inside.want == nil {
			continue
		}
		if inner, _, err := meta.LookupPatchMetadataForStruct(key); err == nil {
			findFormerNames(inside, inner, kind,
				below(path, fieldpath.PathElement{FieldName: &key}), paths)
		}
	}
}

// has reports whether a field was recorded or is described, also without a value.
func (s sides) has(name string) bool {
	_, recorded := s.recorded[name]
	_, wanted := s.want[name]
	return recorded || wanted
}

// removes reports whether a merge removes a field of an object of a kind that the server has set
// under both names, and that it would not set again if both were gone.
func (s sides) removes(alias builtin.Alias, kind string) bool {
	live := s.live[alias.Former]
	return (s.has(alias.Field) || s.has(alias.Former)) &&
		isUnset(s.want[alias.Field]) && isUnset(s.want[alias.Former]) &&
		live != nil && live != alias.Admitted[kind] && jsonvalue.Equal(live, s.live[alias.Field])
}

// isUnset reports whether a server takes a value of a field with a former name for none.
func isUnset(value any) bool { return value == nil || value == "" }

// appliedAlone returns the fields of a live object that only a manager owns by apply.
func appliedAlone(
	live *unstructured.Unstructured, manager string,
) (*unstructured.Unstructured, error) {
	owners, _, err := readFieldSets(live, func(entry map[string]any) bool {
		return isApplyEntry(entry, live.GetAPIVersion(), manager)
	})
	if err != nil {
		return nil, err
	}
	fields, _ := owners.alone(live.Object).(map[string]any)
	return &unstructured.Unstructured{Object: fields}, nil
}
