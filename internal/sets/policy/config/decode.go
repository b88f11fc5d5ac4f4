package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// reader reads one document. It keeps the first problem of each sort; a document with a problem is
// not used.
type reader struct {
	malformed *problem // a value of the wrong type
	invalid   *problem // a value that is not allowed
}

// problem is an error in a document.
type problem struct {
	text     string
	tail     string // one more line, or empty
	verbatim bool   // the text is kapp's and stays alone
}

// node is a value of a document with its path, such as "rebaseRules[0].path[2]". The value is nil
// if it is missing or null.
type node struct {
	r     *reader
	where string
	value any
}

func (n node) addMalformed(want string) {
	if n.r.malformed == nil {
		n.r.malformed = &problem{text: n.where + ": expected " + want + ", but found " +
			describeValue(n.value)}
	}
}

// addInvalid adds a problem with a value. The text follows the path.
func (n node) addInvalid(text string) {
	if n.r.invalid == nil {
		n.r.invalid = &problem{text: n.where + ": " + text}
	}
}

// kappError adds a problem with a value in kapp's words.
func (n node) kappError(text string) {
	if n.r.invalid == nil {
		n.r.invalid = &problem{text: text, verbatim: true}
	}
}

// panicError adds a problem for a value that makes kapp panic. The text of the panic is a line of
// its own, which is not wrapped.
func (n node) panicError(want, words string) {
	if n.r.malformed == nil {
		n.addMalformed(want)
		n.r.malformed.tail = "panic: " + words
	}
}

// get returns the field of a map. Like kapp, it ignores the case of names.
func (n node) get(name string) node {
	field := node{r: n.r, where: name}
	if n.where != "" {
		field.where = n.where + "." + name
	}
	if n.value == nil {
		return field
	}
	fields, ok := n.value.(map[string]any)
	if !ok {
		n.addMalformed("a map")
		return field
	}
	if value, found := fields[name]; found {
		field.value = value
		return field
	}
	for _, key := range sortedKeys(fields) {
		if strings.EqualFold(key, name) {
			field.value = fields[key]
			break
		}
	}
	return field
}

// items returns the items of a list.
func (n node) items() []node {
	if n.value == nil {
		return nil
	}
	list, ok := n.value.([]any)
	if !ok {
		n.addMalformed("a list")
		return nil
	}
	items := make([]node, len(list))
	for i, value := range list {
		items[i] = node{n.r, n.where + "[" + strconv.Itoa(i) + "]", value}
	}
	return items
}

// text returns a string. Like kapp, it accepts numbers and booleans.
func (n node) text() string {
	switch value := n.value.(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	n.addMalformed("a string")
	return ""
}

// texts returns a list of strings.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		texts = append(texts, item.text())
	}
	return texts
}

// labels returns a map of strings.
func (n node) labels() map[string]string {
	labels := map[string]string{}
	if fields, ok := n.value.(map[string]any); ok {
		for _, key := range sortedKeys(fields) {
			labels[key] = node{n.r, n.where + "." + key, fields[key]}.text()
		}
	} else if n.value != nil {
		n.addMalformed("a map")
	}
	return labels
}

// fields returns a map; nil for none.
func (n node) fields() map[string]any {
	fields, ok := n.value.(map[string]any)
	if !ok && n.value != nil {
		n.addMalformed("a map")
	}
	return fields
}

// flag returns a boolean.
func (n node) flag() bool {
	value, ok := n.value.(bool)
	if !ok && n.value != nil {
		n.addMalformed("true or false")
	}
	return value
}

// position returns an integer that is not negative.
func (n node) position() int {
	whole := -1.0
	switch value := n.value.(type) {
	case int64:
		whole = float64(value)
	case float64:
		whole = value
	}
	if whole < 0 || whole > math.MaxInt32 || whole != math.Trunc(whole) {
		n.addMalformed("a position, counted from 0")
		return 0
	}
	return int(whole)
}

// describeValue returns a description of a value for errors. It omits the text of strings, which
// may be long or secret.
func describeValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case string:
		return "a string"
	case bool, int64, float64:
		return fmt.Sprint(value)
	case []any:
		return "a list"
	case map[string]any:
		if len(value) == 0 {
			return "an empty map"
		}
		return "a map with " + strings.Join(sortedKeys(value), ", ")
	}
	return fmt.Sprintf("a %T", value)
}

func sortedKeys[V any](fields map[string]V) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
