package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributing checks that the files and folders which CONTRIBUTING.md names exist.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:internal|local|docs|cmd)/[A-Za-z0-9/_.-]+)`").
		FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("CONTRIBUTING.md names no files")
	}
	for _, match := range named {
		if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
			t.Error(err)
		}
	}
}

// TestCapabilities checks that the patches of local/e2e/testdata/capabilities apply to the tree,
// and that each adds its capability in at most three files beside tests and documentation. The test
// of this name in local/e2e builds and runs them.
func TestCapabilities(t *testing.T) {
	top, err := exec.Command("git", "rev-parse", "--show-cdup").Output()
	if err != nil || strings.TrimSpace(string(top)) != "../" {
		t.Skip("there is no git checkout of this tree alone")
	}
	patches, err := filepath.Glob("../local/e2e/testdata/capabilities/*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatalf("there are no patches: %v", err)
	}
	for _, patch := range patches {
		patch = strings.TrimPrefix(patch, "../")
		if out, err := atTop("git", "apply", "--check", patch); err != nil {
			t.Errorf("%s does not apply: %v\n%s", patch, err, out)
			continue
		}
		sources, err := atTop("git", "apply", "--numstat", "--exclude=*_test.go",
			"--exclude=*/testdata/*", "--exclude=*.md", patch)
		if n := strings.Count(sources, "\n"); err != nil || n == 0 || n > 3 {
			t.Errorf("%s changes %d files, want 1 to 3: %v\n%s", patch, n, err, sources)
		}
	}
}

// atTop runs a program in the top folder and returns what it prints.
func atTop(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	return string(out), err
}
