package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// reader reads one document. It keeps the first complaint of either sort; a document with one is not used.
type reader struct {
	malformed *problem // a value of the wrong type or shape
	invalid   *problem // a value that means nothing
}

// complaint is what is wrong with a document.
type problem struct {
	text     string
	tail     string // a further line, empty when there is none
	verbatim bool   // the text is kapp's, and nothing is added to it
}

// node is a value of a document, and where it is: "rebaseRules[0].path[2]". A value that is missing is nil, like null.
type node struct {
	r     *reader
	where string
	value any
}

func (n node) addMalformed(want string) {
	if n.r.malformed == nil {
		n.r.malformed = &problem{text: n.where + ": expected " + want + ", but found " + describeValue(n.value)}
	}
}

// invalid complains of a value. The text stands behind the place.
func (n node) addInvalid(text string) {
	if n.r.invalid == nil {
		n.r.invalid = &problem{text: n.where + ": " + text}
	}
}

// kapp complains of a value in kapp's own words.
func (n node) kappError(text string) {
	if n.r.invalid == nil {
		n.r.invalid = &problem{text: text, verbatim: true}
	}
}

// panics complains of a value at which kapp ends with a panic. Its words stand in a line of their own, where nothing breaks
// them up.
func (n node) panicError(want, words string) {
	if n.r.malformed == nil {
		n.addMalformed(want)
		n.r.malformed.tail = "panic: " + words
	}
}

// get gives the field of a map. As with kapp, its name may be written in any case, and fields nobody asks for are passed over.
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

// items gives the items of a list.
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

// text gives a string. A number or a truth value is taken as it is written, as kapp takes it.
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

// texts gives a list of strings.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		texts = append(texts, item.text())
	}
	return texts
}

// labels gives a map of strings.
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

// flag gives a truth value.
func (n node) flag() bool {
	value, ok := n.value.(bool)
	if !ok && n.value != nil {
		n.addMalformed("true or false")
	}
	return value
}

// position gives a whole number that is not negative.
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

// shape names a value of a document in an error. Strings are not shown, because they might be long, or secret.
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
