package packages

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResolveRepeated accepts objects that are described twice in the same way, with a warning, and
// refuses objects that are described in two ways.
func TestResolveRepeated(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "resourcegroup.yaml"), string(groupAt().Text()))
	writeFile(t, filepath.Join(dir, "a.yaml"), configMap+"data: {8443: https}\n---\n"+configMap+
		"data: {\"8443\": https}\n")
	writeFile(t, filepath.Join(dir, "b.json"), `{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": {"name": "a", "namespace": "n"}, "data": {"8443": "https"}}`)
	resolve := func() string {
		var said []string
		p, err := Open(t.Context(),
			Input{Folder: dir, Notice: func(text string) { said = append(said, text) }})
		if err != nil {
			t.Fatal(err)
		}
		desired, err := p.Resolve(t.Context(), newTestCluster(), Scope{Namespace: "n"})
		for _, d := range desired {
			said = append(said, "object of "+d.Source)
		}
		if err != nil {
			said = append(said, "error: "+err.Error())
		}
		return strings.Join(said, "\n")
	}
	const key = "Warning: a.yaml: document 1, line 4: map key 8443 (integer) is read as a string; " +
		"put it in quotes\n"
	const twice = "Warning: n/configmap/a is described twice in the same way: in a.yaml:1 and in "
	want := key + twice + "a.yaml:6\n" + twice + "b.json\n" +
		"object of a.yaml:1"
	if diff := cmp.Diff(want, resolve()); diff != "" {
		t.Errorf("the same (-want +got):\n%s", diff)
	}
	writeFile(t, filepath.Join(dir, "b.json"),
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`)
	want = key + twice + "a.yaml:6\nobject of a.yaml:1\n" +
		"error: n/configmap/a is described twice: in a.yaml:1 and in b.json; " +
		"keep one of them"
	if diff := cmp.Diff(want, resolve()); diff != "" {
		t.Errorf("two ways (-want +got):\n%s", diff)
	}
}
