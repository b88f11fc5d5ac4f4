package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// block matches a block of commands with a mark in the README.
var block = regexp.MustCompile("(?ms)^```sh (\\w+)\n(.*?)^```$")

// readme writes the commands of the README's blocks with a mark to files MARK-1.sh, MARK-2.sh and
// so on.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "readme MARK")
	text, err := os.ReadFile(filepath.Join(ts.Getenv("EXAMPLES"), "..", "README.md"))
	ts.Check(err)
	count := 0
	for _, found := range block.FindAllSubmatch(text, -1) {
		if string(found[1]) != args[0] {
			continue
		}
		count++
		commands := strings.TrimRight(string(found[2]), "\n") + "\n"
		name := fmt.Sprintf("%s-%d.sh", args[0], count)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(commands), 0o600))
	}
	if count == 0 {
		ts.Fatalf("the README has no block with the mark %q", args[0])
	}
}

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
