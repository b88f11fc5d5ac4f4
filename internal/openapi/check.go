package openapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Problem is a field of an object that its schema does not have, or whose value has another type.
type Problem struct {
	Path string // as in spec.containers[0].image
	// Name is the last part of the path of an unknown field, and Known are the names of the fields
	// beside it.
	Name  string
	Known []string
	// Want and Got are the types of a field whose value has another type; empty for an unknown
	// field.
	Want, Got string
}

// maxProblems limits the problems of one object, and maxDepth the depth of the values that are
// looked at.
const maxProblems, maxDepth = 20, 100

// Check returns the problems of an object, sorted by path. Known is false if the document does not
// describe the kind.
func (d *Document) Check(kind string, object map[string]any) (problems []Problem, known bool) {
	root := d.Components[d.Kinds[kind]]
	if root == nil {
		return nil, false
	}
	c := &checker{document: d}
	c.value(root, "", object, 0)
	return c.problems, true
}

type checker struct {
	document *Document
	problems []Problem
}

func (c *checker) add(p Problem) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, p)
	}
}

// value checks a value. Null stands for no value.
func (c *checker) value(s *Schema, path string, value any, depth int) {
	for range maxDepth {
		if s == nil || s.Ref == "" {
			break
		}
		s = c.document.Components[s.Ref]
	}
	if s == nil || value == nil || depth > maxDepth {
		return
	}
	if s.Type != "" && !holds(s.Type, value) {
		c.add(Problem{Path: path, Want: s.Type, Got: typeOf(value)})
		return
	}
	switch v := value.(type) {
	case map[string]any:
		c.fields(s, path, v, depth)
	case []any:
		for i, item := range v {
			c.value(s.Items, fmt.Sprintf("%s[%d]", path, i), item, depth+1)
		}
	}
}

func (c *checker) fields(s *Schema, path string, value map[string]any, depth int) {
	if s.Type != "object" && s.Fields == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if len(c.problems) == maxProblems {
			return
		}
		field, ok := s.Fields[name]
		below := name
		if path != "" {
			below = path + "." + name
		}
		switch {
		case ok:
		case s.Values != nil:
			field = s.Values
		case s.Open:
			continue
		default:
			known := slices.Sorted(maps.Keys(s.Fields))
			c.add(Problem{Path: below, Name: name, Known: known})
			continue
		}
		c.value(field, below, value[name], depth+1)
	}
}

// holds reports whether a type has a value.
func holds(name string, value any) bool {
	got := typeOf(value)
	if f, ok := value.(float64); ok && name == "integer" {
		return f == math.Trunc(f)
	}
	return got == name || name == "number" && got == "integer" || !slices.Contains(types, name)
}

// types are the types of OpenAPI.
var types = []string{"string", "integer", "number", "boolean", "array", "object"}

// typeOf returns the type of a value.
func typeOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
