package laws

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Missing returns the paths of what an object lacks of another one: values that are absent or
// other ones, and items of lists. Fields that only the object has do not count. Paths of ignored
// values are left out.
func (all *Schemas) Missing(
	want, live *unstructured.Unstructured, ignored func(Path) bool,
) (missing []string) {
	report := func(p Path, text string) {
		if !ignored(p) {
			missing = append(missing, fmt.Sprintf("%s: %s", p, text))
		}
	}
	all.missing(all.Of(want.GroupVersionKind()), nil, want.Object, live.Object, report)
	return missing
}

func (all *Schemas) missing(
	s *Schema, path Path, want, live any, report func(Path, string),
) {
	switch want := want.(type) {
	case map[string]any:
		at, ok := live.(map[string]any)
		if !ok {
			report(path, fmt.Sprintf("is %v, want %v", live, want))
			return
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			all.missing(all.child(s, name), path.with(name), want[name], at[name], report)
		}
	case []any:
		at, ok := live.([]any)
		if !ok {
			report(path, fmt.Sprintf("is %v, want %v", live, want))
			return
		}
		all.missingItems(s, path, want, at, report)
	default:
		if !reflect.DeepEqual(want, live) {
			report(path, fmt.Sprintf("is %v, want %v", live, want))
		}
	}
}

// missingItems compares lists: items of keyed lists by their keys, those of sets in any order.
func (all *Schemas) missingItems(
	s *Schema, path Path, want, live []any, report func(Path, string),
) {
	s = all.resolve(s)
	mapped, set := s != nil && s.ListType == "map", s != nil && s.ListType == "set"
	if !mapped && !set && len(want) != len(live) {
		report(path, fmt.Sprintf("is %v, want %v", live, want))
		return
	}
	for i, item := range want {
		at := i
		switch {
		case mapped:
			at = slices.IndexFunc(live, func(other any) bool { return sameKeys(s.Keys, item, other) })
		case set:
			at = slices.IndexFunc(live, func(other any) bool { return reflect.DeepEqual(item, other) })
		}
		if at < 0 {
			report(path.with(i), fmt.Sprintf("is absent, want %v", item))
			continue
		}
		all.missing(all.child(s, i), path.with(i), item, live[at], report)
	}
}

// sameKeys reports whether two items have the same values of some keys.
func sameKeys(keys []string, one, other any) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		return !reflect.DeepEqual(Path{key}.Get(one), Path{key}.Get(other))
	})
}
