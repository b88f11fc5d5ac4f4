package change

import (
	"reflect"
	"strconv"
)

// equal reports whether two values of objects would be written as the same YAML: maps and lists by their members, numbers by
// the text that JSON has for them, so that a whole number is the same whether it was read as an integer or not.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMembers(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && sameItems(a, b)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case nil:
		return b == nil
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	}
	return sameNumber(a, b)
}

func sameMembers(a, b map[string]any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for key, value := range a {
		other, found := b[key]
		if !found || !equal(value, other) {
			return false
		}
	}
	return true
}

func sameItems(a, b []any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i, value := range a {
		if !equal(value, b[i]) {
			return false
		}
	}
	return true
}

// sameNumber compares numbers of whatever types, and values of types that objects do not have by their nature.
func sameNumber(a, b any) bool {
	left, leftOK := number(a)
	right, rightOK := number(b)
	if leftOK && rightOK {
		return left == right
	}
	return leftOK == rightOK && reflect.DeepEqual(a, b)
}

// number is the text of a number in YAML, where a float without a fraction looks like an integer.
func number(v any) (string, bool) {
	switch n := v.(type) {
	case int64:
		return strconv.FormatInt(n, 10), true
	case int:
		return strconv.Itoa(n), true
	case int32:
		return strconv.FormatInt(int64(n), 10), true
	case float64:
		if n == 0 {
			return "0", true
		}
		format := byte('f')
		if n >= 1e21 || n <= -1e21 || n < 1e-6 && n > -1e-6 {
			format = 'e'
		}
		return strconv.FormatFloat(n, format, -1, 64), true
	}
	return "", false
}
