package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// cluster knows which of some kinds have namespaces.
func cluster(gvk schema.GroupVersionKind) (namespaced, known bool, err error) {
	switch gvk {
	case schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}:
		return true, true, nil
	case schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
		schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
			Kind: "CustomResourceDefinition"},
		schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}:
		return false, true, nil
	case schema.GroupVersionKind{Group: "broken.example.com", Version: "v1", Kind: "Thing"}:
		return false, false, errors.New("the server of the group does not answer")
	}
	return false, false, nil
}

// TestForeign reports what is meant for other tools, and reads it all the same.
func TestForeign(t *testing.T) {
	const stdin = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\n" +
		"kind: List\nitems:\n- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    name: j\n" +
		"    annotations: {helm.sh/hook: test}\n"
	var said []string
	all, err := Load(t.Context(), Options{
		Files: []string{"-"}, Stdin: strings.NewReader(stdin),
		Foreign: func(text string) { said = append(said, text) },
	})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	want := []string{`job/j (stdin doc 2): annotation "helm.sh/hook" (test) makes ` +
		"it a hook, which Helm runs at that time alone; here it is deployed as every other object"}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}

// TestGoldens reads files that are the sections of an archive; what the sections "stdin" and
// "files" hold is the standard input and what -f names, else all files do. With a section
// "prepare" the objects are prepared by its lines, each a flag of kapp, and then checked against
// the allowed namespaces; without, warnings and their content are printed.
func TestGoldens(t *testing.T) {
	glob, err := filepath.Abs("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	golden.Run(t, glob, func(t *testing.T, files map[string]string) map[string]string {
		t.Chdir(t.TempDir())
		o := Options{Stdin: strings.NewReader(files["stdin"]), Files: strings.Fields(files["files"])}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if name == "files" || name == "stdin" || name == "prepare" {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(files[name]), 0o644); err != nil {
				t.Fatal(err)
			}
			if files["files"] == "" {
				o.Files = append(o.Files, name)
			}
		}
		var warnings strings.Builder
		o.Warn = func(text string) { warnings.WriteString("warning: " + text + "\n") }
		all, err := Load(t.Context(), o)
		flags, prepares := files["prepare"]
		if err != nil || !prepares {
			return map[string]string{"objects": warnings.String() + text(t, all, err, true)}
		}
		p := preparation(t, flags)
		all, err = p.Run(all)
		if err != nil {
			return map[string]string{"objects": text(t, nil, err, false)}
		}
		return map[string]string{"objects": text(t, all, nil, false),
			"allowed": text(t, nil, p.CheckNamespaces(all), false)}
	})
}

func preparation(t *testing.T, flags string) Preparation {
	t.Helper()
	p := Preparation{Namespace: "demo", Kinds: cluster, Now: time.Unix(1795255148, 355614389)}
	for flag := range strings.Lines(flags) {
		name, value, _ := strings.Cut(strings.TrimSpace(flag), " ")
		switch name {
		case "-n":
			p.Namespace = value
		case "--into-ns":
			p.IntoNs = value
		case "--map-ns":
			p.MapNs = append(p.MapNs, value)
		case "--allow-check":
			p.AllowCheck = true
		case "--allow-ns":
			p.AllowNs = append(p.AllowNs, value)
		case "--allow-all-ns":
			p.AllowAllNs = true
		case "--allow-cluster":
			p.AllowCluster = true
		default:
			t.Fatalf("no flag %s", name)
		}
	}
	return p
}

// text returns a line for each object, followed by its content if asked, or the error.
func text(t *testing.T, all []resource.Resource, err error, content bool) string {
	t.Helper()
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s: %s\n", r.Origin, resource.Describe(r.Unstructured))
		if nonce, ok := r.GetAnnotations()[resource.AnnNonce]; ok {
			fmt.Fprintf(&b, "    nonce %s\n", nonce)
		}
		if !content {
			continue
		}
		data, err := json.Marshal(r.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "    %s\n", data)
	}
	return b.String()
}
