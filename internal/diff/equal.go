package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// maxText is the length, in runes, from which a value is shortened.
const maxText = 120

// equal reports whether two JSON values are the same. Numbers are compared by value, however they are represented.
func equal(a, b any) bool {
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
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	return reflect.DeepEqual(a, b)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		y, ok := b[key]
		if !ok || !equal(x, y) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// text is a value as compact JSON, shortened in the middle.
func text(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return shorten(fmt.Sprint(v))
	}
	return shorten(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxText {
		return s
	}
	runes := []rune(s)
	tail := (maxText - 1) / 2
	head := maxText - 1 - tail
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
