package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files compares the files of a folder that a pattern matches with the wanted ones, by name. With
// -update it writes those that differ and removes the others.
func Files(t *testing.T, dir, pattern string, want map[string]string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(path)] = string(text)
	}
	if !*update {
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s is outdated (-files +code); rewrite it with -update:\n%s", dir, diff)
		}
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			err = os.Remove(filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		if got[name] == text {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
