package mutation

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spyzhov/ajson"
)

var errNoMatch = errors.New("the path matches nothing")

// location is the position of a value in an object: keys of maps (string) and indexes of lists
// (int), from the root.
type location []any

// maxDescents limits the use of ".." in a path: each one multiplies the number of visited values.
const maxDescents = 2

// CheckPath returns an error if a path is not valid JSONPath, whatever object it is used on.
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
		return fmt.Errorf(
			"%q has \"..\" more than %d times; name the fields in between", path, maxDescents,
		)
	}
	return nil
}

// locate returns the location of the only value that a path matches. The library finds it; callers
// read and write the object itself, so that values keep their types.
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
	return locationOf(nodes[0], fields)
}

// locationOf returns the location of a node of the decoded object. Computed values, such as a
// length, have none.
func locationOf(node *ajson.Node, fields map[string]any) (location, error) {
	var found location
	for ; node.Parent() != nil; node = node.Parent() {
		if node.Parent().IsArray() {
			found = append(location{node.Index()}, found...)
		} else {
			found = append(location{node.Key()}, found...)
		}
	}
	if !node.IsObject() || !found.exists(fields) {
		return nil, errors.New("the path computes a value; it must name one")
	}
	return found, nil
}

// exists reports whether a value has something at the location.
func (l location) exists(value any) bool {
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

// get returns the value at a location that exists.
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

// set writes a value at a location that exists and is not the root.
func (l location) set(fields map[string]any, value any) {
	last := len(l) - 1
	switch in := l[:last].get(fields).(type) {
	case map[string]any:
		in[l[last].(string)] = value
	case []any:
		in[l[last].(int)] = value
	}
}
