package kustomize

import (
	"log"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/manifest"
)

// TestWarnings builds a package and a base with deprecated fields, and with variables of which
// nothing comes: the library prints warnings of them.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, `-- base/kustomization.yaml --
commonLabels: {a: b}
resources: [cm.yaml]
-- base/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
-- pkg/Kustomization --
bases: [../base, ../more]
resources: [cm.yaml]
sortOptions: {order: fifo}
patchesStrategicMerge: ["{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"]
vars: [{name: "A\u202e", objref: {apiVersion: v1, kind: ConfigMap, name: c}}]
-- pkg/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
-- more/kustomization.yaml --
bases: [../base]
nameSuffix: -b
namespace: b
`)
	OwnProcess()
	t.Cleanup(func() { library.null = nil })
	var got []string
	o := manifest.Options{Warn: func(text string) { got = append(got, text) }}
	printed := captureProcess(t, func() {
		if _, err := Build(t.Context(), filepath.Join(dir, "pkg"), Root{Dir: dir}, o); err != nil {
			t.Error(err)
		}
	})
	want := []string{
		"../base/kustomization.yaml: 'commonLabels' is deprecated. Please use 'labels' instead.",
		"../more/kustomization.yaml: 'bases' is deprecated. Please use 'resources' instead.",
		"Kustomization: 'bases' is deprecated. Please use 'resources' instead.",
		"Kustomization: 'patchesStrategicMerge' is deprecated. Please use 'patches' instead.",
		"Kustomization: 'vars' is deprecated. Please use 'replacements' instead.",
		"Kustomization: well-defined vars that were never replaced: A\ufffd",
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if printed != "" {
		t.Errorf("the library printed:\n%s", printed)
	}
}

// captureProcess returns what is written to standard error, and by the standard logger, while a
// function runs.
func captureProcess(t *testing.T, run func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr, logger := os.Stderr, log.Writer()
	defer func() { os.Stderr = stderr; log.SetOutput(logger) }()
	os.Stderr = file
	log.SetOutput(file)
	run()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
