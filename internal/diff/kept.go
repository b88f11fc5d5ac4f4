package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// Kept returns the paths, sorted, of the fields of an object of a built-in kind that an update has
// removed and that the stored object has with the values of before, as the clusterIP of a Service.
// Defaults are left out: another value would have become the same.
func Kept(before, sent, stored *unstructured.Unstructured) (paths []string) {
	fresh, ok := builtin.Stored(sent.Object)
	if !ok || stored.GetAPIVersion() != sent.GetAPIVersion() {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(before.Object)) {
		if key != "metadata" && key != "status" {
			keptValues(key, before.Object[key], fresh[key], stored.Object[key], &paths)
		}
	}
	return paths
}

func keptValues(path string, before, sent, stored any, paths *[]string) {
	if before == nil || stored == nil {
		return
	}
	if sent == nil {
		if jsonvalue.Equal(before, stored) {
			*paths = append(*paths, path)
		}
		return
	}
	switch before := before.(type) {
	case map[string]any:
		given, _ := sent.(map[string]any)
		is, _ := stored.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(before)) {
			keptValues(Below(path, key), before[key], given[key], is[key], paths)
		}
	case []any:
		given, _ := sent.([]any)
		is, _ := stored.([]any)
		then := matchItems(given, before, areNamed(given) && areNamed(before))
		now := matchItems(given, is, areNamed(given) && areNamed(is))
		for i := range given {
			if then[i] >= 0 && now[i] >= 0 {
				keptValues(ItemOf(path, i), before[then[i]], given[i], is[now[i]], paths)
			}
		}
	}
}
