// Package golden runs tests whose input and expected output are text in one txtar archive.
//
// Sections whose name begins with "out/" are expected output, all others are input. `go test
// -update` writes the actual output instead of comparing it. The package does not interpret
// sections.
package golden

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool(
	"update", false, "rewrite the expected output of golden archives instead of comparing with it",
)

const outPrefix = "out/"

// Run runs a subtest for every archive that the glob matches, and fails if it matches none. f gets
// the input sections and returns the output sections by name, without "out/". Each output must
// equal the section "out/NAME", except for a final newline, and both sides must have the same
// sections. With -update Run rewrites the archive: comment and inputs unchanged, then the output
// sections sorted by name.
func Run(
	t *testing.T, glob string, f func(t *testing.T, files map[string]string) map[string]string,
) {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil {
		t.Fatalf("find archives: %v", err)
	}
	if len(paths) == 0 {
		t.Fatalf("find archives: %s matches nothing", glob)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		t.Run(name, func(t *testing.T) { runArchive(t, path, f) })
	}
}

func runArchive(
	t *testing.T, path string, f func(t *testing.T, files map[string]string) map[string]string,
) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatalf("read archive: %v", err)
	}
	got := withNewline(f(t, inputs(archive)))
	if *update {
		rewrite(t, path, archive, got)
		return
	}
	for _, complaint := range compare(outputs(archive), got) {
		t.Errorf("%s: %s", path, complaint)
	}
}

func inputs(archive *txtar.Archive) map[string]string {
	files := map[string]string{}
	for _, file := range archive.Files {
		if !strings.HasPrefix(file.Name, outPrefix) {
			files[file.Name] = string(file.Data)
		}
	}
	return files
}

func outputs(archive *txtar.Archive) map[string]string {
	files := map[string]string{}
	for _, file := range archive.Files {
		if name, ok := strings.CutPrefix(file.Name, outPrefix); ok {
			files[name] = string(file.Data)
		}
	}
	return files
}

// withNewline ends every text with a newline, as sections of an archive always do.
func withNewline(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		out[name] = text
	}
	return out
}

// compare returns one message per section that differs, sorted by section name.
func compare(want, got map[string]string) []string {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	var complaints []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		wanted, expected := want[name]
		given, produced := got[name]
		switch {
		case !produced:
			complaints = append(
				complaints, "section out/"+name+" is expected, but the test did not produce it",
			)
		case !expected:
			complaints = append(
				complaints, "there is no section out/"+name+"; go test -update writes it:\n"+given,
			)
		case wanted != given:
			complaints = append(complaints, "section out/"+name+" (-want +got):\n"+cmp.Diff(wanted, given))
		}
	}
	return complaints
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	data := txtar.Format(updated(archive, got))
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatalf("update archive: %v", err)
	}
}

// updated returns the archive with got in place of its output sections.
func updated(archive *txtar.Archive, got map[string]string) *txtar.Archive {
	out := &txtar.Archive{Comment: archive.Comment}
	for _, file := range archive.Files {
		if !strings.HasPrefix(file.Name, outPrefix) {
			out.Files = append(out.Files, file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		out.Files = append(out.Files, txtar.File{Name: outPrefix + name, Data: []byte(got[name])})
	}
	return out
}

// Block compares the text between the lines "<!-- NAME -->" and "<!-- end of NAME -->" of a
// document with the wanted text, both reduced by a function. With -update it replaces the text.
func Block(t *testing.T, path, name, want string, reduce func(string) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no block %q", path, name)
	}
	if *update {
		text := before + begin + want + end + after
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(reduce(got), reduce(want)); diff != "" {
		t.Errorf("%s: the block %q is outdated (-document +code); rewrite it with -update:\n%s",
			path, name, diff)
	}
}
