// Package yamltext writes objects as YAML, byte for byte as sigs.k8s.io/yaml does, which is what people and tools compare. That
// library takes some hundred times as much memory as the text has; here what it writes is known for nearly all of an object, and
// the library is asked for the rest alone.
package yamltext

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Marshal gives the fields of an object as YAML with sorted keys. Values are those of unstructured objects.
func Marshal(fields map[string]any) (string, error) {
	var w writer
	w.out.Grow(size(fields, 0))
	if len(fields) == 0 || !w.fields(fields, 0, false) {
		data, err := yaml.Marshal(fields)
		return string(data), err
	}
	return w.out.String(), nil
}

// size is about how long the text of a value is that is indented so far.
func size(value any, indent int) int {
	sum := 0
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			sum += indent + len(key) + 2 + size(inner, indent+2)
		}
	case []any:
		for _, inner := range value {
			sum += indent + 2 + size(inner, indent+2)
		}
	case string:
		sum = len(value) + strings.Count(value, "\n")*indent + 4
	default:
		sum = 6
	}
	return sum
}

// oddities is how many values of an object the library is asked for one by one; with more it is asked for the whole object.
const oddities = 64

// writer writes the parts of an object.
type writer struct {
	out  strings.Builder
	odd  int
	keys []string // of the maps that are being written, used as a stack
}

// fields writes the fields of a map that is not empty, indented so far; within a list item the first follows what is there. It
// reports false if only the library can write the object.
func (w *writer) fields(fields map[string]any, indent int, item bool) bool {
	base := len(w.keys)
	for key := range fields {
		if !word(key) || len(key) > longKey {
			return false
		}
		w.keys = append(w.keys, key)
	}
	slices.SortFunc(w.keys[base:], natural)
	for i := range len(fields) {
		key := w.keys[base+i]
		if i > 0 || !item {
			w.indent(indent)
		}
		w.out.WriteString(key)
		w.out.WriteByte(':')
		if !w.value(fields[key], indent, indent+len(key)+1, key, false) {
			return false
		}
	}
	w.keys = w.keys[:base]
	return true
}

// items writes the items of a list that is not empty. The first dash of a list within a list item follows what is there.
func (w *writer) items(items []any, indent int, item bool) bool {
	for i, value := range items {
		if i > 0 || !item {
			w.indent(indent)
		}
		w.out.WriteByte('-')
		if !w.value(value, indent, indent+1, "", true) {
			return false
		}
	}
	return true
}

// value writes what follows a key, or the dash of an item, that begins at indent and ends before the column.
func (w *writer) value(value any, indent, column int, key string, item bool) bool {
	switch value := value.(type) {
	case nil:
		w.word("null")
	case bool:
		w.word(strconv.FormatBool(value))
	case int64:
		w.word(strconv.FormatInt(value, 10))
	case string:
		if !w.text(value, indent, column+1) {
			return w.ask(value, indent, key, item)
		}
	case map[string]any:
		switch {
		case value == nil:
			w.word("null")
		case len(value) == 0:
			w.word("{}")
		case item:
			w.out.WriteByte(' ')
			return w.fields(value, indent+2, true)
		default:
			w.out.WriteByte('\n')
			return w.fields(value, indent+2, false)
		}
	case []any:
		switch {
		case value == nil:
			w.word("null")
		case len(value) == 0:
			w.word("[]")
		case item:
			w.out.WriteByte(' ')
			return w.items(value, indent+2, true)
		default:
			w.out.WriteByte('\n')
			return w.items(value, indent, false)
		}
	default:
		return w.ask(value, indent, key, item)
	}
	return true
}

// word writes a short value.
func (w *writer) word(word string) {
	w.out.WriteByte(' ')
	w.out.WriteString(word)
	w.out.WriteByte('\n')
}

func (w *writer) indent(width int) {
	for range width {
		w.out.WriteByte(' ')
	}
}

// ask has the library write a value in a place like its own: within as many maps, behind its key or a dash, which are written
// already.
func (w *writer) ask(value any, indent int, key string, item bool) bool {
	if w.odd++; w.odd > oddities {
		return false
	}
	lines := indent / 2 // that come before
	var place any = map[string]any{key: value}
	if item {
		place, key = map[string]any{"a": []any{value}}, "-"
		lines++
	} else {
		key += ":"
	}
	for range indent / 2 {
		place = map[string]any{"a": place}
	}
	data, err := yaml.Marshal(place)
	if err != nil {
		return false
	}
	text := string(data)
	for range lines {
		_, text, _ = strings.Cut(text, "\n")
	}
	rest, ok := strings.CutPrefix(text, strings.Repeat(" ", indent)+key)
	w.out.WriteString(rest)
	return ok
}
