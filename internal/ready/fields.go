package ready

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// field gives what stands at a path, or nil when the path leads nowhere.
func field(obj *unstructured.Unstructured, path ...string) any {
	return below(obj.Object, path...)
}

// below gives what stands at a path under a value, or nil when the path leads nowhere.
func below(value any, path ...string) any {
	for _, key := range path {
		value = member(value, key)
	}
	return value
}

// member gives one entry of a map, or nil when the value is no map or has no such entry.
func member(value any, key string) any {
	m, _ := value.(map[string]any)
	return m[key]
}

// text gives the string at a path, empty when there is none.
func text(obj *unstructured.Unstructured, path ...string) string {
	s, _ := field(obj, path...).(string)
	return s
}

// str gives the string below a value, empty when there is none.
func str(value any, path ...string) string {
	s, _ := below(value, path...).(string)
	return s
}

// annotation gives an annotation's value, empty when there is none.
func annotation(obj *unstructured.Unstructured, key string) string {
	return text(obj, "metadata", "annotations", key)
}

// whole gives a value as a whole number.
func wholeNumber(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// wholeOrDecimal is whole, with a string of digits allowed.
func wholeOrDecimal(value any) (int64, bool) {
	if s, ok := value.(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	return wholeNumber(value)
}

// integer gives the whole number at a path.
func integer(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	return wholeNumber(field(obj, path...))
}

// count gives the whole number at a path, or the fallback.
func count(obj *unstructured.Unstructured, fallback int64, path ...string) int64 {
	if n, ok := integer(obj, path...); ok {
		return n
	}
	return fallback
}

// list gives the maps of the list at a path. Elements that are no maps are left out.
func list(obj *unstructured.Unstructured, path ...string) []map[string]any {
	return maps(field(obj, path...))
}

// maps gives the maps of a list. Elements that are no maps are left out, and all of what is no list.
func maps(value any) []map[string]any {
	items, _ := value.([]any)
	var found []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// join puts a colon between the parts that are not empty.
func join(parts ...string) string {
	var full []string
	for _, part := range parts {
		if part != "" {
			full = append(full, part)
		}
	}
	return strings.Join(full, ": ")
}
