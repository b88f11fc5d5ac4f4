// Package jsonvalue compares JSON values as package unstructured holds them: maps, lists, strings,
// booleans, numbers and null.
//
// Equal compares two values, Walk visits each place at which two values differ. The functions
// modify nothing and may be called concurrently on the same values.
package jsonvalue

import (
	"math"
	"reflect"
)

// Equal reports whether two values are the same. Numbers of different Go types are equal if they
// have the same value; a nil map or list, which is null in JSON, differs from an empty one.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	case nil:
		return b == nil
	}
	x, xIsNumber := numberOf(a)
	y, yIsNumber := numberOf(b)
	if xIsNumber && yIsNumber {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for key, value := range a {
		other, ok := b[key]
		if !ok || !Equal(value, other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// number is a number in the first of the three types that holds it exactly.
type number struct {
	signed   int64
	unsigned uint64
	float    float64
}

func numberOf(value any) (number, bool) {
	switch v := value.(type) {
	case int64:
		return number{signed: v}, true
	case int:
		return number{signed: int64(v)}, true
	case int32:
		return number{signed: int64(v)}, true
	case uint64:
		if v > math.MaxInt64 {
			return number{unsigned: v}, true
		}
		return number{signed: int64(v)}, true
	case float64:
		switch {
		case v != math.Trunc(v), v < math.MinInt64, v >= math.MaxUint64:
			return number{float: v}, true
		case v >= math.MaxInt64:
			return number{unsigned: uint64(v)}, true
		}
		return number{signed: int64(v)}, true
	}
	return number{}, false
}
