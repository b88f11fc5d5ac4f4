package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// WithFormerNames returns what was applied last, which may be nil, with the former names of fields
// of a live object, so that a merge that removes the fields removes these as well.
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

// formerNames returns the former names of fields of a live object that a merge removes: the server
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
		_, recorded := in.recorded[alias.Field]
		if recorded && in.want[alias.Field] == nil && in.want[alias.Former] == nil &&
			in.live[alias.Former] != nil && in.live[alias.Former] != alias.Admitted[kind] &&
			jsonvalue.Equal(in.live[alias.Former], in.live[alias.Field]) {
			*paths = append(*paths, below(path, fieldpath.PathElement{FieldName: &alias.Former}))
		}
		if in.want[alias.Former] != nil && in.want[alias.Field] == nil &&
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
