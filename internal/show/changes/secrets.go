package changes

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// maxKeys is the number of keys from which those of one sort are only counted.
const maxKeys = 20

// SecretKeys returns which keys of a Secret that exists on both sides change, as in: data: password
// changed, token added, user unchanged. It returns nothing for other objects. The values are
// masked; see diff.Mask.
func SecretKeys(before, after *unstructured.Unstructured) string {
	if !object.IsSecret(before) || !object.IsSecret(after) {
		return ""
	}
	var parts []string
	for _, field := range []string{"data", "stringData"} {
		old, _, _ := unstructured.NestedMap(before.Object, field)
		new, _, _ := unstructured.NestedMap(after.Object, field)
		keys := map[string]string{}
		for key := range new {
			keys[key] = "added"
		}
		for key, value := range old {
			switch other, ok := new[key]; {
			case !ok:
				keys[key] = "removed"
			case value == other:
				keys[key] = "unchanged"
			default:
				keys[key] = "changed"
			}
		}
		if len(keys) > 0 {
			parts = append(parts, field+": "+keysText(keys))
		}
	}
	return strings.Join(parts, "; ")
}

// keysText returns the keys by what happens to them.
func keysText(keys map[string]string) string {
	var parts []string
	for _, what := range []string{"changed", "added", "removed", "unchanged"} {
		var names []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if keys[key] == what {
				names = append(names, key)
			}
		}
		if len(names) > maxKeys {
			names = append(names[:maxKeys], "...")
		}
		if len(names) > 0 {
			parts = append(parts, strings.Join(names, ", ")+" "+what)
		}
	}
	return strings.Join(parts, "; ")
}
