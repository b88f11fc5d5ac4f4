package e2e

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCapabilities adds each capability of testdata/capabilities to a copy of the tree, by its
// patch, and runs the script of the same name with the program of the copy.
func TestCapabilities(t *testing.T) {
	if err := exec.Command("git", "rev-parse").Run(); err != nil {
		t.Skip("there is no git checkout")
	}
	installResourceGroup(t)
	const folder = "capabilities"
	patches, err := filepath.Glob(filepath.Join("testdata", folder, "*.patch"))
	check(t, err)
	if len(patches) == 0 {
		t.Fatal("there are no patches")
	}
	tree := filepath.Join(t.TempDir(), "tree") // one path: what a patch leaves alone is built once
	for _, patch := range patches {
		name := strings.TrimSuffix(filepath.Base(patch), ".patch")
		t.Run(name, func(t *testing.T) {
			dir := buildWith(t, tree, patch)
			p := params(folder)
			p.Dir, p.Files = "", []string{filepath.Join("testdata", folder, name+".txtar")}
			setup := p.Setup
			p.Setup = func(env *testscript.Env) error {
				env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
				return setup(env)
			}
			testscript.Run(t, p)
		})
	}
}

// buildWith copies what git tracks to a folder, applies a patch to the copy, runs the unit tests of
// the packages that it changes, and returns the folder of the program that it builds.
func buildWith(t *testing.T, tree, patch string) string {
	t.Helper()
	patch, err := filepath.Abs(patch)
	check(t, err)
	check(t, os.RemoveAll(tree))
	output(t, filepath.Join("..", ".."), "git", "checkout-index", "--all", "--prefix="+tree+"/")
	sources := output(t, tree, "git", "apply", "--numstat", "--exclude=*_test.go",
		"--exclude=*/testdata/*", "--exclude=*.md", patch)
	if n := strings.Count(sources, "\n"); n > 3 {
		t.Errorf("it changes %d files beside tests and documentation, more than 3:\n%s", n, sources)
	}
	output(t, tree, "git", "apply", patch)
	dir := t.TempDir()
	output(t, tree, "go", "build", "-o", filepath.Join(dir, programs[0]), "./cmd/muster")
	output(t, tree, "go", append([]string{"test", "-vet=off"},
		changedPackages(t, tree, patch)...)...)
	return dir
}

// changedPackages returns the packages of the files that a patch changes.
func changedPackages(t *testing.T, tree, patch string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(output(t, tree, "git", "apply", "--numstat", patch)) {
		fields := strings.Fields(line)
		dir, _, _ := strings.Cut(path.Dir(fields[len(fields)-1]), "/testdata")
		if strings.HasPrefix(dir, "internal/") {
			found = append(found, "./"+dir)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// output runs a program in a folder and returns what it prints.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}
