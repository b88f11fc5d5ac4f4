// Package internal holds no code. Its tests enforce the boundaries between packages: imports,
// libraries, and the places of annotation keys. docs/architecture.md has the table. They also check
// the language of code and documents.
package internal

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

const module = "github.com/muster-deploy/muster"

// TestImports checks the imports of each package by the rule for its folder. A folder may import
// lower ones alone, so that there are no circles of folders. Nothing but tests imports testing, and
// nothing but program imports compat, the grammars of other tools.
func TestImports(t *testing.T) {
	used := map[int]bool{}
	for dir, imports := range packages(t) {
		i := ruleOf(dir)
		if i < 0 {
			t.Errorf("internal/%s is in no folder with a rule; add one, and run with -update", dir)
			continue
		}
		r := rules[i]
		used[i] = true
		for _, imported := range imports {
			inside, ours := strings.CutPrefix(imported, module+"/internal/")
			switch {
			case ours && hasPrefix(inside, []string{r.folder}):
			case ours && !hasPrefix(inside, r.imports):
				t.Errorf("internal/%s imports internal/%s, which the rule for %s does not allow: %s",
					dir, inside, r.folder, r.why)
			case ours && r.folder != "testing" && folderOf(inside) != folderOf(dir) && ruleOf(inside) > i:
				t.Errorf("internal/%s imports internal/%s, whose folder is higher", dir, inside)
			case !ours && strings.Contains(imported, ".") && !hasPrefix(imported, r.libraries):
				t.Errorf("internal/%s imports %s, which the rule for %s does not allow: %s",
					dir, imported, r.folder, r.why)
			}
		}
	}
	for i, r := range rules {
		if !used[i] {
			t.Errorf("there is no package in internal/%s", r.folder)
		}
	}
}

// folderOf returns the top folder of a package.
func folderOf(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}

func hasPrefix(imported string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/")
	})
}

// TestArchitecture compares the tables of packages and of decisions in docs/architecture.md with
// the import table, the comments of the packages, and the titles of the decisions.
func TestArchitecture(t *testing.T) {
	const file = "../docs/architecture.md"
	golden.Block(t, file, "packages", packageTable(t), withoutPurposes)
	golden.Block(t, file, "decisions", decisionList(t), strings.TrimSpace)
}

// withoutPurposes removes the second column of a table: a new comment of a package does not fail
// the test. With -update it appears in the document.
func withoutPurposes(table string) string {
	return regexp.MustCompile(`(?m)^(\|[^|]*\|)[^|]*\|`).ReplaceAllString(table, "$1")
}

// packageTable returns a row for each package, lower folders first.
func packageTable(t *testing.T) string {
	t.Helper()
	purposes := map[string]string{}
	for line := range strings.Lines(run(t, "go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./...")) {
		dir, doc, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), module+"/internal/"), "\t")
		words := strings.SplitN(doc, " ", 3) // Package NAME PURPOSE
		purposes[dir] = strings.TrimPrefix(strings.TrimSuffix(words[len(words)-1], "."), "is ")
	}
	names := slices.SortedFunc(maps.Keys(packages(t)), func(a, b string) int {
		return cmp.Or(cmp.Compare(ruleOf(folderOf(a)), ruleOf(folderOf(b))), cmp.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("| Package | Purpose |\n|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, purposes[name])
	}
	return b.String()
}

// decisionList returns a link to each decision.
func decisionList(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../docs/decisions/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d decisions: %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(&b, "- [%s](decisions/%s)\n", title, filepath.Base(file))
	}
	return b.String()
}

// packages returns the imports of every package below internal, tests left out.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	const format = `{{.ImportPath}} {{join .Imports " "}}`
	for line := range strings.Lines(run(t, "go", "list", "-f", format, "./...")) {
		fields := strings.Fields(line)
		if dir, ok := strings.CutPrefix(fields[0], module+"/internal/"); ok {
			found[dir] = fields[1:]
		}
	}
	if len(found) < 5 {
		t.Fatalf("go list found %d packages only", len(found))
	}
	return found
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

// TestVendorKeys keeps annotation and label keys of particular tools in the dialects: the engine
// gets them as policy. Package owner has the marks of all tools, because each kind of set has to
// recognize those of the others, package adopt the formats of their records, and package foreign
// what is meant for them.
func TestVendorKeys(t *testing.T) {
	key := regexp.MustCompile(`"[^"\s]*(cli-utils\.sigs\.k8s\.io|config\.kubernetes\.io|` +
		`config\.k8s\.io|kpt\.dev|kapp\.k14s\.io|` +
		`kubectl\.kubernetes\.io|cnrm\.cloud\.google\.com|meta\.helm\.sh|fluxcd\.io|argoproj\.io|` +
		`applyset\.kubernetes\.io)[^"\s]*"`)
	scanned := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if hasPrefix(filepath.ToSlash(name), []string{"sets/packages", "sets/app", "sets/policy",
			"compat", "owner", "foreign", "feature/adopt"}) {
			return nil
		}
		scanned++
		text, err := os.ReadFile(name)
		if found := key.Find(text); found != nil {
			t.Errorf("internal/%s knows the key %s; hand it in as policy from a dialect", name, found)
		}
		return err
	})
	if err != nil || scanned < 20 {
		t.Fatalf("scanned %d files: %v", scanned, err)
	}
}

// TestFormatQuestions keeps questions for the format of a set in the values of the formats: what
// differs is a field or a method there. Flags that name a set are no such questions, nor is
// convert, whose flags name both formats.
func TestFormatQuestions(t *testing.T) {
	question := regexp.MustCompile(`\(\*(app|package)Set\)\.|case \*(app|package)Set|\bisApp\b|` +
		`\.App [!=]= ""|[!=]= (sets\.)?Kind(App|Package)\b`)
	answers := []string{"sets/format.go", "sets/app.go", "sets/package.go", "cli/setflags",
		"cli/run/convert.go"}
	asked := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") ||
			hasPrefix(name, []string{"compat", "testing"}) {
			return err
		}
		text, err := os.ReadFile(name)
		found := question.FindAllString(string(text), -1)
		if asked += len(found); len(found) > 0 && !hasPrefix(name, answers) {
			t.Errorf("internal/%s asks for the format of a set (%s): answer in sets/format.go", name,
				strings.Join(found, ", "))
		}
		return err
	})
	if err != nil || asked == 0 {
		t.Fatalf("found %d questions: %v", asked, err)
	}
}

// TestTextsForPeople keeps texts of clusters, records and manifests from controlling the terminal:
// native commands print them with Env.Notice and Env.Print, or by package plaintext.
func TestTextsForPeople(t *testing.T) {
	raw := regexp.MustCompile(`fmt\.Fprint(f\((\w+\.)*env\.(Err|Out),.*|` +
		`(ln)?\((\w+\.)*env\.(Err|Out), *[^"\n]*\))`)
	forms := []string{ // JSON, digests, and what is printable already
		"cli/artifacts/pull.go", "cli/artifacts/push.go", "cli/look/drift_documents.go",
		"cli/look/tree.go", "cli/options.go", "cli/packageflags", "cli/run/approve.go",
		"cli/run/drift_accept.go", "cli/run/managed.go", "cli/version.go",
	}
	walked := 0
	err := filepath.WalkDir("cli", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		walked++
		text, err := os.ReadFile(name)
		for _, found := range raw.FindAllString(string(text), -1) {
			if !strings.Contains(found, "plaintext.") && !hasPrefix(name, forms) {
				t.Errorf("internal/%s prints a text as it came: %s", name, found)
			}
		}
		return err
	})
	if err != nil || walked == 0 {
		t.Fatalf("read %d files: %v", walked, err)
	}
}

// TestDependencies keeps what is heavy or another deployer's engine out of the tool's module.
func TestDependencies(t *testing.T) {
	refused := map[string]string{
		"go.etcd.io/etcd":                     "a database server belongs in local/go.mod",
		"k8s.io/kubernetes":                   "the control plane belongs in local/go.mod",
		"k8s.io/kubectl":                      "kubectl's commands are another deployer's engine",
		"sigs.k8s.io/kwok":                    "simulated nodes belong in local/go.mod",
		"sigs.k8s.io/cli-utils":               "another deployer's engine",
		"helm.sh/helm":                        "another deployer's engine",
		"github.com/fluxcd":                   "another deployer's engine",
		"carvel.dev/kapp":                     "another deployer's engine",
		"github.com/vmware-tanzu/carvel-kapp": "another deployer's engine",
	}
	modules := strings.Fields(run(t, "go", "list", "-deps", "-test", "-f",
		"{{with .Module}}{{.Path}}{{end}}", module+"/..."))
	modules = append(modules, strings.Fields(run(t, "go", "mod", "edit", "-print"))...)
	if len(modules) < 10 {
		t.Fatalf("go list found %d modules only", len(modules))
	}
	for _, dependency := range modules {
		for prefix, why := range refused {
			if strings.HasPrefix(dependency, prefix) {
				t.Errorf("the module depends on %s: %s", dependency, why)
			}
		}
	}
}
