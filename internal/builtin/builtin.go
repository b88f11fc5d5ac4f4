// Package builtin describes the built-in kinds of Kubernetes: their fields, the normal form of
// their values, and how their lists merge.
//
// The types are a table, types.txt, generated from the Go types of the Kubernetes API. Linking
// these Go types would make the program larger by half and slow down the start of each run.
package builtin

import (
	_ "embed"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// text is the table. A block for each type begins with its name and, for the type of a kind, the
// API version and the kind. A line for each field follows: its JSON name, its Go type, and the
// options of its tags.
//
//go:embed types.txt
var text string

// extensions is the table of the kinds of which only servers have the Go types, in the same form.
// Clients know these kinds by their values alone and send them as they do custom resources.
//
//go:embed extensions.txt
var extensions string

// tables is the table by type name, with the types of the kinds.
type tables struct {
	types map[string]string
	kinds map[schema.GroupVersionKind]string
}

var (
	table          = sync.OnceValue(func() tables { return split(text) })
	extensionTable = sync.OnceValue(func() tables { return split(extensions) })
)

// split splits a table into blocks. It does not parse fields: a run needs those of a few types
// only.
func split(text string) tables {
	b := tables{types: map[string]string{}, kinds: map[schema.GroupVersionKind]string{}}
	for block := range strings.SplitSeq(text, "\n\n") {
		head, fields, _ := strings.Cut(block, "\n")
		name, kind, isKind := strings.Cut(head, " ")
		b.types[name] = fields
		if isKind {
			version, kind, _ := strings.Cut(kind, " ")
			b.kinds[schema.FromAPIVersionAndKind(version, kind)] = name
		}
	}
	return b
}

// goType is a type of the table, or a pointer, list or map of such types.
type goType struct {
	name    string  // Go syntax: "int32", "*bool", "[]core/v1.Container", "map[string]string", …
	kind    string  // reflect.Kind: "struct", "slice", "map", "ptr", or the name
	elem    *goType // element type of pointers, lists and maps
	special func(any) (value, error)

	reading sync.Once
	fields  []field
}

// field is one field of a type, including fields of embedded types.
type field struct {
	*goType
	name       string
	omitEmpty  bool
	omitZero   bool
	strategies []string // of a strategic merge, as in the tag: [""] for none
	mergeKey   string
}

// types caches the types in use, by name.
var types sync.Map

// typeOf returns the type of a kind, or nil if the kind is not built in.
func typeOf(gvk schema.GroupVersionKind) *goType {
	if name, ok := extensionTable().kinds[gvk]; ok {
		return typeNamed(name)
	}
	return clientTypeOf(gvk)
}

// clientTypeOf returns the type of a kind, or nil if clients have no Go type of it.
func clientTypeOf(gvk schema.GroupVersionKind) *goType {
	if name, ok := table().kinds[gvk]; ok {
		return typeNamed(name)
	}
	return nil
}

func typeNamed(name string) *goType {
	if known, ok := types.Load(name); ok {
		return known.(*goType)
	}
	t := &goType{name: name, kind: name, special: special[name]}
	if of := schemas[name]; of != "" {
		t.kind, t.elem = "schemas", typeNamed(of)
		return t
	}
	if of, ok := strings.CutPrefix(name, "*"); ok {
		t.kind, t.elem = "ptr", typeNamed(of)
	} else if of, ok := strings.CutPrefix(name, "[]"); ok {
		t.kind, t.elem = "slice", typeNamed(of)
	} else if of, ok := strings.CutPrefix(name, "map[string]"); ok {
		t.kind, t.elem = "map", typeNamed(of)
	} else if strings.Contains(name, ".") {
		t.kind = "struct"
	}
	known, _ := types.LoadOrStore(name, t)
	return known.(*goType)
}

// structFields returns the fields of a type of the table, nil for other types.
func (t *goType) structFields() []field {
	t.reading.Do(func() {
		lines, ok := table().types[t.name]
		if !ok {
			lines = extensionTable().types[t.name]
		}
		for line := range strings.Lines(lines) {
			t.fields = append(t.fields, readField(strings.Fields(line)))
		}
	})
	return t.fields
}

func readField(words []string) field {
	f := field{name: words[0], goType: typeNamed(words[1]), strategies: []string{""}}
	for _, word := range words[2:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "patchStrategy":
			f.strategies = strings.Split(value, ",")
		case "patchMergeKey":
			f.mergeKey = value
		}
	}
	return f
}
