package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/muster-deploy/muster/local/mutants/defect"
	"github.com/muster-deploy/muster/local/registry"
)

var updateDocs = flag.Bool("update-docs", false,
	"replace output that documentation shows and commands do not print (any more)")

// TestDocs runs the commands of all pages of the documentation, and of the README, in the order of
// the page, and compares their output with what the page shows. Every page has a namespace and a
// folder of its own, in which a copy of the examples is. What readers have and the page does not
// make is in testdata/docs/PAGE.txtar: files, scripts that a page calls by "after NAME", and in the
// line "namespace NAME" the namespace in which the page says its reader is. A line "registry NAME"
// starts a registry that the page calls so. A page whose archive says "run by TEST" is left to this
// test. One with a line "needs TOOL" is skipped unless "make build-tools" has built the tool; its
// scripts find it in the folder $TOOLS.
func TestDocs(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard",
		"*.md", ":!:*testdata*")
	list.Dir = root
	pages, err := list.Output()
	if err != nil {
		t.Fatalf("list the pages: %v", err)
	}
	for _, page := range strings.Fields(string(pages)) {
		name := strings.NewReplacer("docs/", "", "/", "-", ".md", "").Replace(page)
		t.Run(name, func(t *testing.T) {
			inTurn(t)
			testPage(t, root, page, name)
		})
	}
}

// testPage runs the blocks of one page.
func testPage(t *testing.T, root, page, name string) {
	t.Helper()
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join("testdata", "docs", name+".txtar"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	parsed := txtar.Parse(archive)
	if found := pageElsewhere.FindSubmatch(parsed.Comment); found != nil {
		t.Skipf("%s runs the commands of this page", found[1])
	}
	for _, found := range pageNeeds.FindAllSubmatch(parsed.Comment, -1) {
		if has, err := hasTool(string(found[1])); err != nil {
			t.Fatal(err)
		} else if !has {
			t.Skipf(`the page needs bin/tools/%s: run "make build-tools"`, found[1])
		}
	}
	blocks, err := readBlocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	var shell *docShell
	lines := strings.Split(string(text), "\n")
	edits := runBlocks(t, blocks, func() *docShell {
		if shell == nil {
			shell = newDocShell(t, root, page, parsed)
		}
		return shell
	})
	for _, edit := range slices.Backward(edits) {
		lines = slices.Replace(lines, edit.line-1, edit.line-1+len(edit.text), edit.printed...)
	}
	if *updateDocs {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A docEdit is a block that shows something else than its commands print.
type docEdit struct {
	docBlock
	printed []string
}

// runBlocks runs blocks and returns those that show something else than is printed.
func runBlocks(t *testing.T, blocks []docBlock, shell func() *docShell) (edits []docEdit) {
	t.Helper()
	for _, block := range blocks {
		switch {
		case block.lang == "yaml" && block.file != "":
			shell().write(block.file, strings.Join(block.text, "\n")+"\n")
			continue
		case block.lang != "sh" && block.lang != "console" || block.mark.skip != "":
			continue
		case block.lang == "console" && !strings.HasPrefix(strings.Join(block.text, "\n"), "$ "):
			t.Errorf("%s:%d: a console block must begin with a command", shell().page, block.line)
			continue
		}
		if printed, same := shell().run(block); !same {
			edits = append(edits, docEdit{block, printed})
		}
	}
	return edits
}

// A docShell runs the commands of a page one after the other, as a shell of its reader would.
type docShell struct {
	t         *testing.T
	page      string
	dir       string // the working folder
	home      string
	namespace string // where the commands run
	shown     string // the namespace of the reader
	registry  string // the name of the registry of the reader; empty for none
	address   string // of the registry where the commands run
	env       []string
}

func newDocShell(t *testing.T, root, page string, archive *txtar.Archive) *docShell {
	t.Helper()
	s := &docShell{t: t, page: page, shown: "default", dir: t.TempDir(), home: t.TempDir()}
	if found := pageNamespace.FindSubmatch(archive.Comment); found != nil {
		s.shown = string(found[1])
	}
	if found := pageRegistry.FindSubmatch(archive.Comment); found != nil {
		server, err := registry.Start("", "")
		s.check(err)
		t.Cleanup(server.Close)
		s.registry, s.address = string(found[1]), server.Address
	}
	s.namespace = rand.String(len(s.shown)) // as long, for the columns of tables
	s.check(createNamespace(t.Cleanup, s.namespace))
	kubeconfig := filepath.Join(s.home, "kubeconfig")
	s.check(writeKubeconfig(kubeconfig, s.namespace))
	s.check(os.CopyFS(filepath.Join(s.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))))
	s.check(os.Mkdir(filepath.Join(s.home, "bin"), 0o755))
	s.check(os.WriteFile(filepath.Join(s.home, "bin", "muster-local"), []byte(noPlane), 0o755))
	s.check(os.Mkdir(filepath.Join(s.home, "demo"), 0o755))
	s.env = append(os.Environ(), "HOME="+s.home, "KUBECONFIG="+kubeconfig, "NS="+s.namespace,
		"DEMO="+filepath.Join(s.home, "demo"), "TOOLS="+filepath.Join(bin, "tools"), "TERM=dumb",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ann",
		"GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=ann@example.com",
		"PATH="+filepath.Join(s.home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		defect.Env+"="+defectOf(filepath.Base(t.Name()), "."))
	for _, file := range archive.Files {
		s.write(file.Name, strings.ReplaceAll(string(file.Data), "${NS}", s.namespace))
	}
	return s
}

// noPlane is the muster-local of a reader, whose cluster need not be a plane.
const noPlane = "#!/bin/sh\necho the page needs a plane >&2\nexit 1\n"

var (
	pageNamespace = regexp.MustCompile(`(?m)^namespace (\S+)$`)
	pageRegistry  = regexp.MustCompile(`(?m)^registry (\S+)$`)
	pageElsewhere = regexp.MustCompile(`(?m)^run by (.+)$`)
	pageNeeds     = regexp.MustCompile(`(?m)^needs (\S+)$`)
)

func (s *docShell) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", s.page, err)
	}
}

// write writes a file of the page.
func (s *docShell) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	s.check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.check(os.WriteFile(path, []byte(text), 0o644))
}

// run runs a block. It returns the block with what its commands print, and whether the page shows
// that.
func (s *docShell) run(block docBlock) (printed []string, same bool) {
	s.t.Helper()
	for _, name := range block.mark.after {
		script, err := os.ReadFile(filepath.Join(s.dir, name))
		s.check(err)
		if out, err := s.shell("set -e\n" + string(script)); err != nil {
			s.t.Fatalf("%s:%d: %s: %v\n%s", s.page, block.line, name, err, out)
		}
	}
	same = true
	commands := block.commands()
	for i, command := range commands {
		text := command.text
		if block.lang == "sh" {
			text = "set -e\n" + text
		}
		out, err := s.shell(text)
		want := 0
		if i == len(commands)-1 {
			want = block.mark.exit
		}
		if code, err := shellExit(err); err != nil || code != want {
			s.t.Errorf("%s:%d: exit code %d, want %d (%v)\n$ %s\n%s", s.page, block.line, code, want,
				err, command.text, out)
		}
		got := s.readerLines(out)
		diff := ""
		if block.lang == "console" {
			diff = compareShown(command, got, block.mark.excerpt != "")
		}
		if diff != "" {
			same = false
			if !*updateDocs {
				s.t.Errorf("%s:%d: $ %s\n(-page +printed)\n%s", s.page, block.line, command.text, diff)
			}
		} else {
			got = command.output
		}
		printed = append(printed, "$ "+strings.ReplaceAll(command.text, "\n", "\n> "))
		printed = append(printed, got...)
	}
	return printed, same
}

// shell runs commands where the commands before them ended: in their folder, with their variables.
func (s *docShell) shell(commands string) (string, error) {
	if s.registry != "" {
		commands = strings.ReplaceAll(commands, s.registry, s.address)
	}
	state := filepath.Join(s.home, "state")
	script := fmt.Sprintf(`test ! -e %[1]q || . %[1]q
trap 'code=$?; { export -p; printf "cd %%q\n" "$PWD"; } >%[1]q; exit $code' EXIT
%s
`, state, commands)
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// shellExit returns the exit code of a command that could be run.
func shellExit(err error) (int, error) {
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		return exited.ExitCode(), nil
	}
	return 0, err
}

// readerLines returns output as the reader of the page would see it.
func (s *docShell) readerLines(out string) []string {
	out = strings.NewReplacer(s.dir, "/home/me", s.home, "/home/me").Replace(out)
	out = regexp.MustCompile(`\b`+s.namespace+`\b`).ReplaceAllString(out, s.shown)
	if s.registry != "" {
		out = strings.ReplaceAll(out, s.address, s.registry)
	}
	out = localServer.ReplaceAllString(out, "https://127.0.0.1:45413")
	out = strings.TrimRight(out, "\n")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

var localServer = regexp.MustCompile(`https://127\.0\.0\.1:\d+`)

// changing matches commands that write objects at once, whose lines come in the order in which
// objects become ready.
var changing = regexp.MustCompile(
	`\b(muster|kapp|kpt)( live| kapp| groups)? (apply|deploy|destroy|delete)\b`)

// passing matches lines that are printed if an object is not ready at once, or for long.
var passing = regexp.MustCompile(`reconcile pending$|^still waiting after|: ongoing: |` +
	`^ *L (ok|ongoing): |---- waiting |^waiting for |^installing inventory `)

// unasked matches the note of commands that would ask on the terminal of a reader.
var unasked = regexp.MustCompile(`^note: nothing was asked, since there is no terminal`)

// notReadyYet matches the first line of the causes of an object that muster still waits for.
var notReadyYet = regexp.MustCompile(`^\S+/\S+ is not (?:ready|gone):$`)

// withoutCauses returns lines without those causes: they are printed if they last long enough to be
// seen.
func withoutCauses(lines []string) (kept []string) {
	cause := false
	for _, line := range lines {
		cause = notReadyYet.MatchString(line) || cause && strings.HasPrefix(line, "    ")
		if !cause {
			kept = append(kept, line)
		}
	}
	return kept
}

// compareShown compares the output that a page shows with what was printed. Times, generated names
// and the blanks of tables differ, and a page may leave out the first line, which names the
// cluster. In the page "…" stands for any text in a line, and a line "..."
// for any lines.
func compareShown(command docCommand, got []string, excerpt bool) string {
	want := slices.Clone(command.output)
	if excerpt && len(want) == 0 && len(got) > 0 {
		return "the page shows nothing"
	}
	unordered := changing.MatchString(command.text)
	comparable := func(lines []string) []string {
		var kept []string
		for _, line := range lines {
			line = unvarying(line)
			if (!unordered || !passing.MatchString(line)) && !unasked.MatchString(line) {
				kept = append(kept, line)
			}
		}
		return kept
	}
	if len(got) > 0 && strings.HasPrefix(got[0], "context ") &&
		(len(want) == 0 || !strings.HasPrefix(want[0], "context ")) {
		got = got[1:]
	}
	if unordered && !slices.ContainsFunc(want, notReadyYet.MatchString) {
		got = withoutCauses(got)
	}
	want, got = comparable(want), comparable(got)
	if unordered && !excerpt {
		slices.Sort(want)
		slices.Sort(got)
	}
	if unordered && excerpt && allIn(want, got) || matchLines(want, got, excerpt) {
		return ""
	}
	return cmp.Or(gocmp.Diff(want, got), "the excerpt is not in the output")
}

// allIn returns whether each line of a page matches some line.
func allIn(want, got []string) bool {
	return !slices.ContainsFunc(want, func(line string) bool {
		return !slices.ContainsFunc(got, func(printed string) bool { return matchLine(line, printed) })
	})
}

// matchLines returns whether lines match those of a page, in which "..." is any number of lines; in
// an excerpt such a line is before and after every other.
func matchLines(want, got []string, excerpt bool) bool {
	if len(want) == 0 {
		return excerpt || len(got) == 0
	}
	if want[0] == "..." {
		for i := 0; i <= len(got); i++ {
			if matchLines(want[1:], got[i:], excerpt) {
				return true
			}
		}
		return false
	}
	for i, line := range got {
		if matchLine(want[0], line) && matchLines(want[1:], got[i+1:], excerpt) {
			return true
		}
		if !excerpt {
			break
		}
	}
	return false
}

// matchLine returns whether a line matches one of a page, in which "…" is any text.
func matchLine(want, got string) bool {
	if want == got || !strings.Contains(want, "…") {
		return want == got
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}
