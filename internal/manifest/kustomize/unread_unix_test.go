//go:build unix

package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-deploy/muster/internal/manifest"
)

// TestPipes builds kustomizations that name a pipe.
func TestPipes(t *testing.T) {
	for text, want := range map[string]string{
		"resources: [pipe]": `kustomization.yaml: resources names "pipe": it is a named pipe`,
		"configMapGenerator: [{name: a, files: [pipe]}]": "it is a named pipe, not a regular file",
		"patches: [{path: pipe}]":                        "it is a named pipe, not a regular file",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "kustomization.yaml")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Build(t.Context(), dir, Root{}, manifest.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
