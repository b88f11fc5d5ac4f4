package laws

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
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
	taken := make([]bool, len(live)) // an item may be there twice
	find := func(same func(other any) bool) int {
		for j, other := range live {
			if !taken[j] && same(other) {
				taken[j] = true
				return j
			}
		}
		return -1
	}
	for i, item := range want {
		at := i
		switch {
		case mapped:
			at = find(func(other any) bool { return sameKeys(s.Keys, item, other) })
		case set:
			at = find(func(other any) bool { return reflect.DeepEqual(item, other) })
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

// Changed returns the paths of the values that differ between two objects, without the places of
// list items: .spec.containers[].image. A list is one value if its length or the names of its items
// differ.
func Changed(was, is *unstructured.Unstructured) (paths []string) {
	changed("", was.Object, is.Object, &paths)
	return paths
}

func changed(path string, was, is any, paths *[]string) {
	if reflect.DeepEqual(was, is) {
		return
	}
	switch a := was.(type) {
	case map[string]any:
		b, ok := is.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			changed(path+"."+name, a[name], b[name], paths)
		}
		return
	case []any:
		b, ok := is.([]any)
		if !ok || !slices.EqualFunc(a, b, sameName) {
			break
		}
		for i := range a {
			changed(path+"[]", a[i], b[i], paths)
		}
		return
	}
	*paths = append(*paths, path)
}

// sameName reports whether two items of lists have the same name, or none.
func sameName(one, other any) bool { return sameKeys([]string{"name"}, one, other) }

// place matches the place of a list item in a path that plans show, and quoted is the name of a
// field that is no word there.
var (
	place  = regexp.MustCompile(`\[(\*|\d+|\w+=([^\]"]*|"[^"]*"))\]`)
	quoted = regexp.MustCompile(`\["([^"]*)"\]`)
)

// Shown returns a path that plans show in the form of those of Changed.
func Shown(path string) string {
	return quoted.ReplaceAllString(place.ReplaceAllString(path, "[]"), ".$1")
}
