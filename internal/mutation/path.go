package mutation

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spyzhov/ajson"
)

// errNoMatch says that a path leads nowhere.
var errNoMatch = errors.New("the path matches nothing")

// location is one place in an object: keys of maps (string) and indexes of lists (int), from the root.
type location []any

// maxDescents is how often a path may say "any depth below": each time multiplies what is looked at.
const maxDescents = 2

// CheckPath reports whether a path can be read at all, whatever object it is asked of.
func CheckPath(path string) error {
	commands, err := ajson.ParseJSONPath(path)
	if err != nil || len(commands) == 0 || commands[0] != "$" {
		return fmt.Errorf("%q is not a JSONPath; it looks like $.spec.replicas or $.data['a.key']", path)
	}
	descents := 0
	for _, command := range commands {
		if command == ".." {
			descents++
		}
	}
	if descents > maxDescents {
		return fmt.Errorf("%q has \"..\" more than %d times; name the fields in between", path, maxDescents)
	}
	return nil
}

// locate finds the one place that a path means. The library finds it; values are read and written in the object itself, so
// that they keep their types.
func locate(fields map[string]any, path string) (found location, err error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	nodes, err := ajson.JSONPath(data, path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask for the path: %w", err)
	case len(nodes) == 0:
		return nil, errNoMatch
	case len(nodes) > 1:
		return nil, fmt.Errorf("the path matches %d values; it must match one", len(nodes))
	}
	return place(nodes[0], fields)
}

// place is where a node of the decoded object is; what a path computed, such as a length, is nowhere.
func place(node *ajson.Node, fields map[string]any) (location, error) {
	var found location
	for ; node.Parent() != nil; node = node.Parent() {
		if node.Parent().IsArray() {
			found = append(location{node.Index()}, found...)
		} else {
			found = append(location{node.Key()}, found...)
		}
	}
	if !node.IsObject() || !found.in(fields) {
		return nil, errors.New("the path computes a value; it must name one")
	}
	return found, nil
}

// in reports whether the place exists.
func (l location) in(value any) bool {
	for _, step := range l {
		switch in := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			next, ok := in[key]
			if !ok {
				return false
			}
			value = next
		case []any:
			i, ok := step.(int)
			if !ok || i < 0 || i >= len(in) {
				return false
			}
			value = in[i]
		default:
			return false
		}
	}
	return true
}

// get reads a place that exists.
func (l location) get(value any) any {
	for _, step := range l {
		if key, ok := step.(string); ok {
			value = value.(map[string]any)[key]
		} else {
			value = value.([]any)[step.(int)]
		}
	}
	return value
}

// set writes a place that exists and is not the root.
func (l location) set(fields map[string]any, value any) {
	last := len(l) - 1
	switch in := l[:last].get(fields).(type) {
	case map[string]any:
		in[l[last].(string)] = value
	case []any:
		in[l[last].(int)] = value
	}
}
