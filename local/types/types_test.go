package types

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	registration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var update = flag.Bool("update", false, "rewrite the table instead of comparing with it")

// own are the types that package builtin encodes in a way of its own.
var own = []string{
	"apis/meta/v1.Time", "apiextensions/v1.JSON", "apiextensions/v1.JSONSchemaPropsOrArray",
	"apiextensions/v1.JSONSchemaPropsOrBool", "apiextensions/v1.JSONSchemaPropsOrStringArray",
}

// TestTable makes the table of the kinds of which only the servers have the Go types.
func TestTable(t *testing.T) {
	const path = "../../internal/builtin/extensions.txt"
	others, err := os.ReadFile("../../internal/builtin/types.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := maker{t: t, blocks: map[string]string{}, others: string(others)}
	m.add(reflect.TypeFor[extensions.CustomResourceDefinition](),
		" apiextensions.k8s.io/v1 CustomResourceDefinition")
	m.add(reflect.TypeFor[registration.APIService](), " apiregistration.k8s.io/v1 APIService")
	var blocks []string
	for _, name := range slices.Sorted(maps.Keys(m.blocks)) {
		blocks = append(blocks, m.blocks[name])
	}
	made := strings.Join(blocks, "\n")
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(table), made); diff != "" {
		t.Errorf(
			"the table is not what the types say (-table +types); rewrite it with -update:\n%s", diff,
		)
	}
}

// maker makes the blocks of types that the table of other kinds lacks.
type maker struct {
	t      *testing.T
	blocks map[string]string
	others string
}

// add adds the block of a struct, and those of the structs that it is made of. Kind follows its
// name.
func (m maker) add(typ reflect.Type, kind string) {
	name := nameOf(typ)
	if m.blocks[name] != "" || slices.Contains(own, name) ||
		strings.Contains(m.others, "\n"+name+"\n") {
		return
	}
	m.blocks[name] = name + kind + "\n" // so that a type within itself comes to an end
	m.blocks[name] += m.fields(typ)
}

// fields returns the lines of the fields of a struct.
func (m maker) fields(typ reflect.Type) string {
	var lines strings.Builder
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			lines.WriteString(m.fields(f.Type))
			continue
		}
		if name == "" || name == "-" {
			m.t.Fatalf("%s.%s has no name in JSON", nameOf(typ), f.Name)
		}
		fmt.Fprintf(&lines, "%s %s", name, m.expression(f.Type))
		for option := range strings.SplitSeq(options, ",") {
			if option != "" {
				fmt.Fprintf(&lines, " %s", option)
			}
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

// expression returns a type in the syntax of the table.
func (m maker) expression(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return "*" + m.expression(typ.Elem())
	case reflect.Slice:
		return "[]" + m.expression(typ.Elem())
	case reflect.Map:
		return "map[string]" + m.expression(typ.Elem())
	case reflect.Struct:
		m.add(typ, "")
		return nameOf(typ)
	default:
		return typ.Kind().String()
	}
}

// nameOf returns the name of a type in the table.
func nameOf(typ reflect.Type) string {
	path := typ.PkgPath()
	for _, prefix := range []string{
		"k8s.io/api/", "k8s.io/apimachinery/pkg/", "k8s.io/apiextensions-apiserver/pkg/apis/",
		"k8s.io/kube-aggregator/pkg/apis/",
	} {
		path = strings.TrimPrefix(path, prefix)
	}
	return path + "." + typ.Name()
}
