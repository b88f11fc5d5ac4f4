package kustomize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestBuild builds the folder pkg of each archive. The golden section lists origin and reference of
// each object, or the errors.
func TestBuild(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		objects, err := Build(t.Context(), filepath.Join(dir, "pkg"), Root{Dir: dir}, manifest.Options{})
		if err != nil {
			for line := range strings.Lines(err.Error() + "\n") {
				b.WriteString("error: " + line)
			}
		}
		for _, obj := range objects {
			fmt.Fprintf(&b, "%s: %s\n", obj.Origin, object.RefOf(obj.Unstructured))
		}
		return map[string]string{"built": strings.ReplaceAll(b.String(), dir, "DIR")}
	})
}

// TestFile finds the file under each of its names, and does not take a folder for it.
func TestFile(t *testing.T) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if got := File(dir); got != name || !IsFile(name) {
			t.Errorf("File = %q, want %q", got, name)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "Kustomization"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := File(dir); got != "" || IsFile("web.yaml") {
		t.Errorf("File = %q of a folder without one", got)
	}
}

// TestCircle checks a folder that contains itself through a symbolic link.
func TestCircle(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kustomization.yaml")
	if err := os.WriteFile(path, []byte("resources: [again]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	_, err := Build(t.Context(), dir, Root{}, manifest.Options{})
	if err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("Build = %v", err)
	}
}
