// Package builtin knows the kinds that every API server has: which fields their types have, how these are written, and how
// their lists merge.
//
// The types are a table, types.txt, made from the Go types of the Kubernetes API. Linking these types themselves would make
// the program larger by half, and each of its runs slower.
package builtin

import (
	_ "embed"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// text is the table. A block for each type begins with its name and, where it is the type of a kind, the API version and
// the kind. A line for each field follows: its name in JSON, its type as Go writes it, and what its tags say of it.
//
//go:embed types.txt
var text string

// blocks are the parts of the table, by type, and the types of the kinds.
type blocks struct {
	types map[string]string
	kinds map[schema.GroupVersionKind]string
}

var table = sync.OnceValue(func() blocks { return split(text) })

// split takes a table apart, but reads no fields: a run needs those of a few types.
func split(text string) blocks {
	b := blocks{types: map[string]string{}, kinds: map[schema.GroupVersionKind]string{}}
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

// typ is a type of the table, or one made of such types.
type typ struct {
	name    string // as Go writes it: "int32", "*bool", "[]core/v1.Container", "map[string]string", …
	sort    string // what Go's reflection calls it: "struct", "slice", "map", "ptr", or the name
	of      *typ   // of pointers, lists and maps: of what
	special func(any) (value, error)

	reading sync.Once
	fields  []field
}

// field is one field of a type, those of embedded types among them.
type field struct {
	*typ
	name       string
	omitEmpty  bool
	omitZero   bool
	strategies []string // of a strategic merge; as the tag has them, so that there is always one, if an empty one
	mergeKey   string
}

// types are those that were needed until now, by name.
var types sync.Map

// typeOf gives the type of a kind, nil for one that is not built in.
func typeOf(gvk schema.GroupVersionKind) *typ {
	if name, ok := table().kinds[gvk]; ok {
		return named(name)
	}
	return nil
}

func named(name string) *typ {
	if known, ok := types.Load(name); ok {
		return known.(*typ)
	}
	t := &typ{name: name, sort: name, special: special[name]}
	if of, ok := strings.CutPrefix(name, "*"); ok {
		t.sort, t.of = "ptr", named(of)
	} else if of, ok := strings.CutPrefix(name, "[]"); ok {
		t.sort, t.of = "slice", named(of)
	} else if of, ok := strings.CutPrefix(name, "map[string]"); ok {
		t.sort, t.of = "map", named(of)
	} else if strings.Contains(name, ".") {
		t.sort = "struct"
	}
	known, _ := types.LoadOrStore(name, t)
	return known.(*typ)
}

// all gives the fields of a type, which only those of the table have.
func (t *typ) all() []field {
	t.reading.Do(func() {
		for line := range strings.Lines(table().types[t.name]) {
			t.fields = append(t.fields, readField(strings.Fields(line)))
		}
	})
	return t.fields
}

func readField(words []string) field {
	f := field{name: words[0], typ: named(words[1]), strategies: []string{""}}
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
