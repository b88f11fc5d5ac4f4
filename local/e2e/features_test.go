package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// script matches the name of a script in a table.
var script = regexp.MustCompile("`([a-z]+/[a-z_0-9]+)`")

// TestFeatures checks that the scripts which docs/features.md names exist.
func TestFeatures(t *testing.T) {
	text, err := os.ReadFile("../../docs/features.md")
	if err != nil {
		t.Fatal(err)
	}
	names := script.FindAllSubmatch(text, -1)
	if len(names) == 0 {
		t.Error("docs/features.md names no script")
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join("testdata", string(name[1])+".txtar")); err != nil {
			t.Errorf("docs/features.md: %v", err)
		}
	}
}
