package builtin

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

var update = flag.Bool("update", false, "rewrite the table instead of comparing with it")

// TestTable makes the table of the Go types.
func TestTable(t *testing.T) {
	m := maker{t: t, blocks: map[string]string{}, kinds: map[string]string{}}
	for gvk, typ := range kindsOf() {
		name := m.add(typ)
		if other, ok := m.kinds[name]; ok {
			t.Fatalf("%s is the type of %s and of %s", name, other, gvk)
		}
		m.kinds[name] = " " + gvk.GroupVersion().String() + " " + gvk.Kind
	}
	var names []string
	for name := range m.blocks {
		names = append(names, name)
	}
	slices.Sort(names)
	var made strings.Builder
	for i, name := range names {
		if i > 0 {
			made.WriteString("\n")
		}
		fmt.Fprintf(&made, "%s%s\n%s", name, m.kinds[name], m.blocks[name])
	}
	if *update {
		if err := os.WriteFile("types.txt", []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, made.String()); diff != "" {
		t.Errorf(
			"the table is not what the types say (-table +types); rewrite it with -update:\n%s", diff,
		)
	}
}

// kindsOf returns the types of the kinds that are objects.
func kindsOf() map[schema.GroupVersionKind]reflect.Type {
	kinds := map[schema.GroupVersionKind]reflect.Type{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		_, isObject := typ.FieldByName("ObjectMeta")
		if gvk.Version != runtime.APIVersionInternal && strings.HasPrefix(typ.PkgPath(), "k8s.io/api/") &&
			isObject {
			kinds[gvk] = typ
		}
	}
	return kinds
}

type maker struct {
	t             *testing.T
	blocks, kinds map[string]string
}

// add takes in a struct and all that it is made of, and gives its name.
func (m maker) add(typ reflect.Type) string {
	name := nameOf(typ)
	if _, ok := m.blocks[name]; ok || special[name] != nil {
		return name
	}
	if marshals(typ) {
		m.t.Fatalf("%s is written in a way of its own and has to be among the special types", name)
	}
	m.blocks[name] = "" // so that a type within itself comes to an end
	var fields strings.Builder
	m.fields(&fields, typ)
	m.blocks[name] = fields.String()
	return name
}

func nameOf(typ reflect.Type) string {
	path := strings.TrimPrefix(
		strings.TrimPrefix(typ.PkgPath(), "k8s.io/api/"), "k8s.io/apimachinery/pkg/",
	)
	return path + "." + typ.Name()
}

func marshals(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) ||
		pointer.Implements(reflect.TypeFor[json.Unmarshaler]())
}

func (m maker) fields(out *strings.Builder, typ reflect.Type) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		switch {
		case tag[0] == "-" || !f.IsExported():
			m.t.Fatalf("%s.%s has no name in JSON", nameOf(typ), f.Name)
		case tag[0] == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			m.fields(out, f.Type)
			continue
		case tag[0] == "":
			m.t.Fatalf("%s.%s has no name in JSON", nameOf(typ), f.Name)
		}
		fmt.Fprintf(out, "%s %s", tag[0], m.expression(f.Type))
		for _, option := range tag[1:] {
			fmt.Fprintf(out, " %s", option)
		}
		for _, key := range []string{"patchStrategy", "patchMergeKey"} {
			if value := f.Tag.Get(key); value != "" {
				fmt.Fprintf(out, " %s=%s", key, value)
			}
		}
		out.WriteString("\n")
	}
}

func (m maker) expression(typ reflect.Type) string {
	if typ.Kind() != reflect.Struct && typ.PkgPath() != "" && marshals(typ) {
		m.t.Fatalf("%s is written in a way of its own", nameOf(typ))
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return "*" + m.expression(typ.Elem())
	case reflect.Slice:
		return "[]" + m.expression(typ.Elem())
	case reflect.Map:
		if typ.Key().Kind() != reflect.String {
			m.t.Fatalf("%s has keys that are no strings", typ)
		}
		return "map[string]" + m.expression(typ.Elem())
	case reflect.Struct:
		return m.add(typ)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint8:
		return typ.Kind().String()
	}
	m.t.Fatalf("the table cannot express %s", typ)
	return ""
}
