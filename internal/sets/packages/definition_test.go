package packages

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// A definition serves if it can hold what ours can, whatever else it holds and however it is
// described.
func TestDefinitionServes(t *testing.T) {
	ours, err := ourDefinition()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"the same": {func(*unstructured.Unstructured) {}, true},
		"other words": {func(o *unstructured.Unstructured) {
			at(versionOf(o), "schema", "openAPIV3Schema")["description"] = "another"
		}, true},
		"more fields": {
			func(o *unstructured.Unstructured) {
				at(versionOf(o), "schema", "openAPIV3Schema")["x-more"] = true
			}, true,
		},
		"no status": {
			func(o *unstructured.Unstructured) { delete(versionOf(o), "subresources") }, false,
		},
		"no longer served": {
			func(o *unstructured.Unstructured) { versionOf(o)["served"] = false }, false,
		},
		"another version": {
			func(o *unstructured.Unstructured) { versionOf(o)["name"] = "v1" }, false,
		},
		"another scope": {
			func(o *unstructured.Unstructured) { at(o.Object, "spec")["scope"] = "Cluster" }, false,
		},
		"fewer status fields": {
			func(o *unstructured.Unstructured) { delete(entryProperties(o), "actuation") }, false,
		},
		"fields of another type": {func(o *unstructured.Unstructured) {
			entryProperties(o)["actuation"] = map[string]any{"type": "integer"}
		}, false},
	} {
		live := ours.DeepCopy()
		test.change(live)
		if got := supports(live, ours); got != test.want {
			t.Errorf("%s: serves = %v, want %v", name, got, test.want)
		}
	}
}

// at descends into maps.
func at(fields map[string]any, path ...string) map[string]any {
	for _, key := range path {
		fields = fields[key].(map[string]any)
	}
	return fields
}

func entryProperties(o *unstructured.Unstructured) map[string]any {
	return at(
		versionOf(o), "schema", "openAPIV3Schema", "properties", "status", "properties",
		"resourceStatuses", "items", "properties",
	)
}

// The manifest of the definition, for those who install it themselves, is the one that the program
// installs.
func TestDefinitionManifest(t *testing.T) {
	manifest, err := os.ReadFile("../../../deploy/crds/resourcegroups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(manifest, definitionFile) {
		t.Error("deploy/crds/resourcegroups.yaml differs from internal/sets/packages/crd.yaml: copy that")
	}
}

// TestDefinitionIsThatOfKpt compares the definition with that in the source of kpt, a module of
// local/tools. kpt compares the whole spec with its own, and stops if it may not replace another.
func TestDefinitionIsThatOfKpt(t *testing.T) {
	ours, err := ourDefinition()
	if err != nil {
		t.Fatal(err)
	}
	theirs := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(kptDefinition(t)), &theirs.Object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs.Object["spec"], ours.Object["spec"]); diff != "" {
		t.Errorf("the spec of the definition differs from that of kpt (-kpt +muster):\n%s", diff)
	}
}

// Install replaces what muster itself installed earlier, and an older definition that lacks
// something. It never takes anything away from one that others have extended.
func TestInstallReplaces(t *testing.T) {
	ours, err := ourDefinition()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/definition_earlier.yaml")
	if err != nil {
		t.Fatal(err)
	}
	earlier := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &earlier.Object); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		from     *unstructured.Unstructured
		change   func(*unstructured.Unstructured)
		replaced bool
	}{
		"an earlier one of muster": {earlier, func(*unstructured.Unstructured) {}, true},
		"an earlier one that somebody has edited": {earlier, func(o *unstructured.Unstructured) {
			at(versionOf(o), "schema", "openAPIV3Schema")["description"] = "another"
		}, false},
		"an older one": {ours, func(o *unstructured.Unstructured) {
			delete(entryProperties(o), "actuation")
		}, true},
		"one of others that has more and less": {ours, func(o *unstructured.Unstructured) {
			entryProperties(o)["health"] = map[string]any{"type": "string"}
			delete(entryProperties(o), "actuation")
		}, false},
		"one with another version": {ours, func(o *unstructured.Unstructured) {
			delete(entryProperties(o), "actuation")
			spec := at(o.Object, "spec")
			spec["versions"] = append(spec["versions"].([]any), map[string]any{
				"name": "v1beta1", "served": true, "storage": false, "schema": map[string]any{
					"openAPIV3Schema": map[string]any{"type": "object"},
				},
			})
		}, false},
	} {
		c := newTestCluster()
		c.Serve(plan.DefinitionKind, false)
		live := test.from.DeepCopy()
		test.change(live)
		live.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Established", "status": "True"},
		}}
		c.Put(live)
		if err := Install(t.Context(), c); err != nil && test.replaced {
			t.Errorf("%s: %v", name, err)
		}
		want := live.Object["spec"]
		if test.replaced {
			want = ours.Object["spec"]
		}
		if diff := cmp.Diff(want, c.Object(object.RefOf(ours)).Object["spec"]); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// kptDefinition returns the definition in the source of kpt. It skips the test if the module is not
// on this machine, unless MUSTER_TEST_TOOLS=required.
func kptDefinition(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kptdev/kpt")
	list.Dir = "../../../local/tools"
	out, err := list.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		if os.Getenv("MUSTER_TEST_TOOLS") == "required" {
			t.Fatalf("find the module of kpt: %v; 'make build-tools' downloads it", err)
		}
		t.Skip("the module of kpt is not on this machine; 'make build-tools' downloads it")
	}
	file, err := parser.ParseFile(
		token.NewFileSet(), filepath.Join(dir, "pkg", "live", "inventoryrg.go"), nil, 0,
	)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "v1RGCrd" {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err = strconv.Unquote(literal.Value)
		}
		return false
	})
	if err != nil || text == "" {
		t.Fatalf("kpt has no definition v1RGCrd any more: %v", err)
	}
	return text
}
