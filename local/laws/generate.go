package laws

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Generator generates objects and changes of them.
type Generator struct {
	Random  *rand.Rand
	Schemas *Schemas
}

// Changes are the kinds of edits: a new value, another value, none any more, another member of a
// union, or another value of one field in each item of a list.
var Changes = []string{"add", "change", "remove", "switch", "each"}

// Edit is a change of one value of an object. A nil value removes it.
type Edit struct {
	Kind  string // one of Changes
	Path  Path
	Value any
	// Removed is a sibling that goes at the same time: another member of a union.
	Removed Path
}

// String returns the edit in one line.
func (e Edit) String() string {
	text := fmt.Sprintf("%s %s: %v", e.Kind, e.Path, e.Value)
	if e.Removed != nil {
		text += fmt.Sprintf(" instead of %s", e.Removed)
	}
	return text
}

// Apply returns a copy of an object with the edit.
func (e Edit) Apply(obj *unstructured.Unstructured) *unstructured.Unstructured {
	edited := obj.DeepCopy()
	if e.Removed != nil {
		e.Removed.Set(edited.Object, nil)
	}
	e.Path.Set(edited.Object, runtime.DeepCopyJSONValue(e.Value))
	return edited
}

// fixed are the fields of all objects that are not generated and not changed.
var fixed = []Path{
	{"apiVersion"}, {"kind"}, {"status"}, {"metadata"}, {"immutable"},
}

// Focused returns up to n different edits of an object that its kind has in its focus; at times
// none.
func (g *Generator) Focused(obj *unstructured.Unstructured, kind Kind, n int) (edits []Edit) {
	if len(kind.Focus) == 0 || g.Random.IntN(4) == 0 {
		return nil
	}
	for _, i := range g.Random.Perm(len(kind.Focus)) {
		focus, kinds := kind.Focus[i], Changes
		if focus.Kind != "" {
			kinds = []string{focus.Kind}
		}
		within := Kind{Pinned: kind.Pinned, Free: []Path{focus.Path}}
		edits = append(edits, g.Edits(obj, within, n/len(kind.Focus), kinds...)...)
	}
	return edits
}

// Edits returns up to n different edits of an object, of some kinds.
// They leave the fields alone that are not free.
func (g *Generator) Edits(
	obj *unstructured.Unstructured, kind Kind, n int, kinds ...string,
) (edits []Edit) {
	root := g.Schemas.Of(obj.GroupVersionKind())
	pinned := slices.Concat(fixed, kind.Pinned)
	var places []Edit
	walk(obj.Object, nil, func(path Path, value any) {
		if slices.ContainsFunc(pinned, path.Begins) {
			return
		}
		places = append(places, g.places(root, path, value)...)
	})
	places = slices.DeleteFunc(places, func(e Edit) bool {
		return !slices.Contains(kinds, e.Kind) || !kind.isFree(e.Path) ||
			slices.ContainsFunc(pinned, func(p Path) bool {
				return e.Path.Begins(p) || p.Begins(e.Path) || e.Removed != nil && p.Begins(e.Removed)
			})
	})
	g.Random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	if g.Random.IntN(2) == 0 {
		slices.SortStableFunc(places, func(a, b Edit) int {
			return kind.order(a.Path) - kind.order(b.Path)
		})
	}
	for _, e := range places {
		if len(edits) == n {
			break
		}
		switch e.Kind {
		case "remove":
		case "each":
			e.Value = g.each(root, e.Path, e.Path.Get(obj.Object).([]any))
		default:
			e.Value = g.value(root, e.Path)
		}
		if e.Kind == "remove" || e.Value != nil {
			edits = append(edits, e)
		}
	}
	return edits
}

// places returns the edits that are possible at a value, without their new values.
func (g *Generator) places(root *Schema, path Path, value any) (edits []Edit) {
	switch at := value.(type) {
	case map[string]any:
		s := g.Schemas.at(root, path)
		if s == nil {
			return nil
		}
		if s.Additional.Schema != nil || s.Free {
			edits = append(edits, Edit{Kind: "add", Path: path.with(g.word())})
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if _, found := at[name]; found || notGenerated[name] {
				continue
			}
			edits = append(edits, Edit{Kind: "add", Path: path.with(name)})
			for _, other := range slices.Sorted(maps.Keys(at)) {
				if g.isOptionalMember(s, name) && g.isOptionalMember(s, other) {
					edits = append(edits, Edit{
						Kind: "switch", Path: path.with(name), Removed: path.with(other),
					})
				}
			}
		}
	case []any:
		edits = append(edits, Edit{Kind: "add", Path: path.with(len(at))})
		if len(at) > 1 {
			edits = append(edits, Edit{Kind: "each", Path: path})
		}
	default:
		edits = append(edits, Edit{Kind: "change", Path: path})
	}
	return append(edits, Edit{Kind: "remove", Path: path})
}

// each returns a list with another value of one field in each item, or nil if no field of all items
// has a plain value.
func (g *Generator) each(root *Schema, path Path, list []any) any {
	var names []string
	first, _ := list[0].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if !slices.ContainsFunc(list, func(item any) bool {
			switch (Path{name}).Get(item).(type) {
			case nil, map[string]any, []any:
				return true
			}
			return false
		}) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	name := names[g.Random.IntN(len(names))]
	list = runtime.DeepCopyJSONValue(list).([]any)
	for i, item := range list {
		if value := g.value(root, path.with(i).with(name)); value != nil {
			item.(map[string]any)[name] = value
		}
	}
	return list
}

// isOptionalMember reports whether a field may be a member of a union: an optional object, or the
// value of an environment variable.
func (g *Generator) isOptionalMember(s *Schema, name string) bool {
	field := g.Schemas.child(s, name)
	return field != nil && !slices.Contains(s.Required, name) &&
		(len(field.Properties) > 0 || name == "value" || name == "inline")
}

// notGenerated are the names of fields that only controllers set, or that make objects wait.
var notGenerated = map[string]bool{
	"status": true, "ownerReferences": true, "finalizers": true, "nodeName": true,
	"managedFields": true, "deletionTimestamp": true, "creationTimestamp": true,
}

// value returns a generated value of the schema at a path, or nil if there is no schema.
func (g *Generator) value(root *Schema, path Path) any {
	s := g.Schemas.at(root, path)
	if s == nil && len(path) > 0 {
		return g.word() // in free objects
	}
	name, _ := path[len(path)-1].(string)
	return g.generate(s, name, 0)
}

// generate returns a value of a schema. Objects get what they need and, the less the deeper, some
// of their other fields.
func (g *Generator) generate(s *Schema, name string, depth int) any {
	s = g.Schemas.resolve(s)
	switch {
	case s == nil || depth > 6:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[g.Random.IntN(len(s.Enum))]
	case s.IntOrString || s.Format == "int-or-string":
		return []any{int64(1 + g.Random.IntN(90)), "50%"}[g.Random.IntN(2)]
	case len(s.OneOf) > 0 && s.Type == "":
		return fmt.Sprint([]string{"1", "2", "100m", "64Mi", "1Gi", "1500m"}[g.Random.IntN(6)])
	}
	switch s.Type {
	case "boolean":
		return g.Random.IntN(2) == 0
	case "integer":
		low, high := int64(1), int64(90)
		if s.Minimum != nil {
			low = int64(*s.Minimum)
		}
		if s.Maximum != nil {
			high = int64(*s.Maximum)
		}
		return low + g.Random.Int64N(high-low+1)
	case "number":
		return float64(g.Random.IntN(100)) / 4
	case "string":
		return g.text(s, name)
	case "array":
		return g.list(s, name, depth)
	}
	return g.object(s, depth)
}

// list returns a list of one or two items that differ.
func (g *Generator) list(s *Schema, name string, depth int) any {
	list := []any{}
	for range 1 + g.Random.IntN(2) {
		item := g.generate(s.Items, strings.TrimSuffix(name, "s"), depth+1)
		if item != nil && !slices.ContainsFunc(list, func(other any) bool {
			return fmt.Sprint(other) == fmt.Sprint(item)
		}) {
			list = append(list, item)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// object returns a map or an object.
func (g *Generator) object(s *Schema, depth int) any {
	object := map[string]any{}
	if s.Additional.Schema != nil || s.Free && len(s.Properties) == 0 {
		value := any(g.word())
		if s.Additional.Schema != nil {
			value = g.generate(s.Additional.Schema, "", depth+1)
		}
		if value == nil {
			return nil
		}
		object[g.word()] = value
		return object
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) {
			if object[name] = g.generate(s.Properties[name], name, depth+1); object[name] == nil {
				return nil
			}
		} else if !notGenerated[name] && g.Random.IntN(3+len(s.Properties)/3+2*depth) == 0 {
			if value := g.generate(s.Properties[name], name, depth+1); value != nil {
				object[name] = value
			}
		}
	}
	return object
}

// words are the texts that generated values have: they are names, labels, and keys.
var words = []string{"anna", "bert", "carl", "dora", "emil", "fritz", "gerda"}

func (g *Generator) word() string { return words[g.Random.IntN(len(words))] }

// texts are valid texts of fields that cannot have any.
var texts = map[string][]string{
	"path": {"/a", "/b", "/c/d"}, "mountPath": {"/mnt/a", "/mnt/b"},
	"fieldPath":  {"metadata.name", "metadata.namespace", "spec.nodeName", "status.podIP"},
	"protocol":   {"TCP", "UDP"},
	"cidr":       {"10.0.0.0/8", "192.168.1.0/24"},
	"host":       {"a.example.com", "b.example.com"},
	"schedule":   {"1 1 1 1 *", "2 2 2 2 *"},
	"expression": {"true", "1 == 1"}, "resource": {"limits.cpu", "requests.memory"},
	"apiVersion": {"v1"}, "url": {"https://127.0.0.1:2/"}, "apiGroup": {"example.com"},
}

// text returns a text for a field.
func (g *Generator) text(s *Schema, name string) string {
	switch s.Format {
	case "byte":
		return []string{"YQ==", "YmI=", "Y2Nj"}[g.Random.IntN(3)]
	case "date-time":
		return fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+g.Random.IntN(28))
	}
	if known := texts[name]; known != nil {
		return known[g.Random.IntN(len(known))]
	}
	return g.word()
}

// Versions returns the group versions of kinds.
func Versions(kinds []Kind) (versions []schema.GroupVersion) {
	for _, kind := range kinds {
		version := kind.Object.GroupVersionKind().GroupVersion()
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	return versions
}
