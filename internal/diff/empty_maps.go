package diff

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// EmptyMaps returns the patch that takes the content out of those maps of a live custom resource
// which want has without content, as far as the applier alone owns all of it; zero if there are
// none, and for built-in kinds. A server-side apply that takes out all content of a map sets the
// map to null, which the schema of the kind may not allow.
func EmptyMaps(want, live *unstructured.Unstructured, by Applier) (Patch, error) {
	if _, typed := builtin.TypeMeta(want.GroupVersionKind()); typed {
		return Patch{}, nil
	}
	owners, applied, err := readFieldSets(live, by.owns(live))
	if err != nil || !applied || live.GetAPIVersion() != want.GetAPIVersion() {
		return Patch{}, err
	}
	cleared := live.DeepCopy()
	if !owners.emptyMaps(without(want.Object, "metadata", "status"), cleared.Object) {
		return Patch{}, nil
	}
	return MergePatch(live, cleared)
}

// emptyMaps takes the content out of maps of a live value, in place. It reports whether there are
// any.
func (s appliedFields) emptyMaps(want, live any) (found bool) {
	if s.mine == nil || s.mine.isLeaf() {
		return false
	}
	switch want := want.(type) {
	case map[string]any:
		fields, _ := live.(map[string]any)
		if len(want) == 0 && len(fields) > 0 && jsonvalue.Equal(s.alone(live), live) {
			clear(fields)
			return true
		}
		for key, value := range want {
			inner := appliedFields{s.mine.field(key), s.others.field(key)}
			found = inner.emptyMaps(value, fields[key]) || found
		}
	case []any:
		items, _ := live.([]any)
		for i, at := range matchItems(want, items, areNamed(want) && areNamed(items)) {
			if at < 0 {
				continue
			}
			inner := appliedFields{s.mine.itemOf(items[at]), s.others.itemOf(items[at])}
			found = inner.emptyMaps(want[i], items[at]) || found
		}
	}
	return found
}
