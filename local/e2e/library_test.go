package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLibrary runs the example of the Go package.
func TestLibrary(t *testing.T) {
	inTurn(t)
	program := filepath.Join(t.TempDir(), "library")
	build := exec.Command("go", "build", "-o", program, "./examples/library")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder := t.TempDir()
	manifests := `apiVersion: v1
kind: ConfigMap
metadata: {name: flags}
data: {a: "1"}
`
	if err := os.WriteFile(filepath.Join(folder, "flags.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := createNamespace(t.Cleanup, "library"); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program, "library", folder)
	run.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig())
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	want := `plan: 1 to create
ConfigMap flags succeeded
apply: succeeded, 1 written, revision 1
drifted: 0
destroy: succeeded, 1 deleted
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
