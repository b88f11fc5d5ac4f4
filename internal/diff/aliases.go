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

// formerNames returns the former names of fields of a live object that a merge removes: the server
// has set them as well, and would set the fields by them again. It returns the fields themselves
// where the desired object has another value under the former name, which the server would ignore.
func (m merge) formerNames(in sides) (paths []fieldpath.Path) {
	if m.of != nil {
		findFormerNames(in, m.of, nil, &paths)
	}
	return paths
}

func findFormerNames(
	in sides, meta strategicpatch.LookupPatchMeta, path fieldpath.Path, paths *[]fieldpath.Path,
) {
	for _, alias := range builtin.AliasesOf(meta) {
		_, recorded := in.recorded[alias.Field]
		if recorded && in.want[alias.Field] == nil && in.want[alias.Former] == nil &&
			in.live[alias.Former] != nil &&
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
			findFormerNames(inside, inner,
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
