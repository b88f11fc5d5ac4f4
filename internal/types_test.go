package internal

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// maxTypes is how many types an object may pass from its file to the printed line.
const maxTypes = 11

// objectTypes are the types that hold an object on its way from a file to the printed line, in
// their order, and what each adds. Those that a package does not export are named.
var objectTypes = []struct {
	of      reflect.Type
	private string // as in "engine.track"
	adds    string
}{
	{of: reflect.TypeFor[manifest.Object](), adds: "the object with its file, document and line"},
	{of: reflect.TypeFor[resource.Resource](), adds: "an app: its namespace, labels and place"},
	{of: reflect.TypeFor[plan.Desired](), adds: "the object with all marks of its set"},
	{of: reflect.TypeFor[cluster.Target](), adds: "the version in which the live object is read"},
	{of: reflect.TypeFor[plan.Step](), adds: "what is done with it, when and why; what is sent"},
	{private: "engine.track", adds: "how far the step is in a run"},
	{of: reflect.TypeFor[cluster.Write](), adds: "one request that writes it"},
	{of: reflect.TypeFor[cluster.Delete](), adds: "one request that deletes it"},
	{private: "engine.result", adds: "what a worker found, for the loop"},
	{of: reflect.TypeFor[event.Event](), adds: "a fact for those who print"},
	{of: reflect.TypeFor[view.TableRow](), adds: "a line of a table"},
}

// TestObjectTypes compares the types of docs/architecture.md with these, and counts them.
func TestObjectTypes(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Type | What it adds |\n|---|---|\n")
	for _, typ := range objectTypes {
		name := typ.private
		if typ.of != nil {
			name = typ.of.String()
		} else if dir, private, _ := strings.Cut(name, "."); !declares(t, dir, private) {
			t.Errorf("package %s has no type %s", dir, private)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, typ.adds)
	}
	if len(objectTypes) > maxTypes {
		t.Errorf("an object passes %d types, and not %d", len(objectTypes), maxTypes)
	}
	golden.Block(t, "../docs/architecture.md", "types", b.String(), strings.TrimSpace)
}

// declares reports whether a package declares a struct.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\ntype "+name+" struct {") {
			return true
		}
	}
	return false
}
