package ready

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// field gives what stands at a path, or nil when the path leads nowhere.
func field(obj *unstructured.Unstructured, path ...string) any {
	var value any = obj.Object
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

// integer gives the whole number at a path.
func integer(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	switch n := field(obj, path...).(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// integerOrDecimal is integer, with a string of digits allowed.
func integerOrDecimal(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	if s := text(obj, path...); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	}
	return integer(obj, path...)
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
	items, _ := field(obj, path...).([]any)
	var maps []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// str gives the string below a map, empty when there is none.
func str(m map[string]any, path ...string) string {
	return text(&unstructured.Unstructured{Object: m}, path...)
}

// condition is one entry of status.conditions. The zero value stands for a condition that is not there.
type condition struct {
	Type, Status, Reason, Message string
}

// conditions gives status.conditions in the order of the object.
func conditions(obj *unstructured.Unstructured) []condition {
	var all []condition
	for _, m := range list(obj, "status", "conditions") {
		all = append(all, condition{str(m, "type"), str(m, "status"), str(m, "reason"), str(m, "message")})
	}
	return all
}

// conditionOf gives the first condition of a type.
func conditionOf(obj *unstructured.Unstructured, kind string) condition {
	for _, c := range conditions(obj) {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// holds says whether the condition is there and true.
func (c condition) holds() bool {
	return c.Status == "True"
}
