package program

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/cli"
)

// errorsPage is the page of errors.
const errorsPage = "../../docs/errors.md"

// errorsScripts are the scripts whose expected texts are those of its blocks "text": there the
// namespace of the script is that of the page.
var errorsScripts = []string{
	"../../local/e2e/testdata/front/errors.txtar",
	"../../local/e2e/testdata/managed/managed.txtar",
	"../../local/e2e/testdata/showsets/errors.txtar",
}

// block matches a block of the page with its language.
var block = regexp.MustCompile("(?ms)^```(console|text)\n(.*?)^```\n")

// TestErrorsPage runs the commands of the page of errors and compares what they print with it. "…"
// stands for any text.
func TestErrorsPage(t *testing.T) {
	page, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	var expected []txtar.File
	for _, file := range errorsScripts {
		script, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		expected = append(expected, script.Files...)
	}
	dir := t.TempDir()
	extract(t, dir)
	t.Chdir(dir)
	t.Setenv("KUBECONFIG", "config")
	blocks := block.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 20 {
		t.Errorf("the page has only %d blocks", len(blocks))
	}
	for _, b := range blocks {
		if b[1] == "text" {
			want := strings.ReplaceAll(b[2], "namespace shop", "namespace ${NS}")
			want = strings.ReplaceAll(want, "-n shop", "-n ${NS}")
			want = strings.ReplaceAll(want, "- shop/", "- ${NS}/")
			want = strings.ReplaceAll(want, "the namespace does not exist; did you mean shop?",
				"the namespace does not exist; did you mean ${NS}?")
			inScript := func(f txtar.File) bool { return string(f.Data) == want }
			if !slices.ContainsFunc(expected, inScript) {
				t.Errorf("no file of %q has the text:\n%s", errorsScripts, want)
			}
			continue
		}
		command, want, _ := strings.Cut(b[2], "\n")
		got := printed(strings.Fields(strings.TrimPrefix(command, "$ ")))
		if !matches(got, want) {
			t.Errorf("%s\ngot:\n%s\nthe page has:\n%s", command, got, want)
		}
	}
}

// extract writes the files beside which the commands run.
func extract(t *testing.T, dir string) {
	archive, err := txtar.ParseFile("testdata/errors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// printed returns what a command prints on the standard error.
func printed(args []string) string {
	var out, err bytes.Buffer
	Main(&cli.Env{
		Args: args, In: strings.NewReader(""), Out: &out, Err: &err,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return err.String()
}

// matches reports whether a text is a pattern, in which "…" stands for any text.
func matches(text, pattern string) bool {
	parts := strings.Split(pattern, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(text)
}
