package ready

import (
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// field returns the value at a path, or nil.
func field(obj *unstructured.Unstructured, path ...string) any {
	return valueAt(obj.Object, path...)
}

// valueAt returns the value at a path in a value, or nil.
func valueAt(value any, path ...string) any {
	for _, key := range path {
		value = member(value, key)
	}
	return value
}

// member returns one entry of a map, or nil if the value is not a map or has no such entry.
func member(value any, key string) any {
	m, _ := value.(map[string]any)
	return m[key]
}

// maxText is the number of bytes of a text in an object that are read. The API server permits more
// than a megabyte, and thousands of texts are kept, compared and matched.
const maxText = 8 << 10

// text returns the string at a path, or "". Of a long one it returns the beginning.
func text(obj *unstructured.Unstructured, path ...string) string {
	return str(obj.Object, path...)
}

// str returns the string at a path in a value, or "". Of a long one it returns the beginning.
func str(value any, path ...string) string {
	s, _ := valueAt(value, path...).(string)
	return short(s)
}

// short returns a text, or the beginning of a long one. It does not keep the rest in memory.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxText]), "") + " …"
}

// annotation returns the value of an annotation, or "".
func annotation(obj *unstructured.Unstructured, key string) string {
	return text(obj, "metadata", "annotations", key)
}

// wholeNumber returns a value as an integer, if it is one.
func wholeNumber(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// wholeOrDecimal extends wholeNumber to strings of digits.
func wholeOrDecimal(value any) (int64, bool) {
	if s, ok := value.(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	return wholeNumber(value)
}

// integer returns the integer at a path.
func integer(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	return wholeNumber(field(obj, path...))
}

// count returns the integer at a path, or the fallback.
func count(obj *unstructured.Unstructured, fallback int64, path ...string) int64 {
	if n, ok := integer(obj, path...); ok {
		return n
	}
	return fallback
}

// list returns the maps in the list at a path.
func list(obj *unstructured.Unstructured, path ...string) []map[string]any {
	return maps(field(obj, path...))
}

// maps returns the maps in a list and skips other elements. It returns none if value is not a list.
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

// join joins the parts that are not empty with colons.
func join(parts ...string) string {
	var full []string
	for _, part := range parts {
		if part != "" {
			full = append(full, part)
		}
	}
	return strings.Join(full, ": ")
}
