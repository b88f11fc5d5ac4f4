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

	"github.com/muster-deploy/muster/internal/golden"
)

const module = "github.com/muster-deploy/muster"

// boundary is what one package may import: packages of this module, by their path below internal,
// and libraries, by prefix.
type boundary struct {
	level     int
	module    []string
	libraries []string
	why       string
}

// machinery is the part of the Kubernetes libraries that describes objects and talks to nobody.
const machinery = "k8s.io/apimachinery"

// boundaries is the import table. A package of level n imports only lower levels.
var boundaries = map[string]boundary{
	"boundedio":  {0, nil, nil, "reads files with the standard library alone"},
	"plaintext":  {0, nil, nil, "texts to texts"},
	"object":     {0, nil, []string{machinery}, "identity needs nothing"},
	"graph":      {0, nil, nil, "algorithms on numbers"},
	"suggest":    {0, nil, nil, "words to words; of paths it reads what is beside them"},
	"graph/draw": {1, []string{"graph"}, nil, "graphs to texts and drawings"},
	"golden": {0, nil, []string{"github.com/google/go-cmp", "golang.org/x/tools"},
		"support for tests"},
	"manifest": {1, []string{"object", "boundedio", "plaintext"},
		[]string{machinery, "go.yaml.in/yaml", "sigs.k8s.io/yaml"},
		"YAML is parsed by a library"},
	"builtin": {0, nil, []string{machinery, "sigs.k8s.io/yaml"},
		"tables of types and defaults; the types themselves would be a third of the program"},
	"diff/jsonvalue": {0, nil, nil, "two values in, their differences out"},
	"diff": {1, []string{"object", "builtin", "diff/jsonvalue"},
		[]string{machinery, "k8s.io/client-go/util/csaupgrade", "sigs.k8s.io/structured-merge-diff"},
		"built-in types define how lists merge; no connection to a server"},
	"mutation": {1, []string{"object"}, []string{machinery, "github.com/spyzhov/ajson"},
		"JSONPath is a library's; taking values over is pure"},
	"ready": {1, []string{"object"}, []string{machinery}, "judging is pure"},
	"ready/rules": {2, []string{"object", "ready"},
		[]string{machinery, "github.com/google/cel-go", "go.yaml.in/yaml"},
		"rules are YAML with expressions"},
	"record": {1, []string{"object"}, nil, "the neutral form knows no storage"},
	"record/recordtest": {2, []string{"object", "record"}, []string{"github.com/google/go-cmp"},
		"support for tests"},
	"cluster": {1, []string{"object", "suggest"},
		[]string{machinery, "k8s.io/client-go", "k8s.io/utils", "golang.org/x/net/http2",
			"golang.org/x/sync"},
		"the only package that connects"},
	"access": {0, nil, []string{machinery, "golang.org/x/sync"},
		"permissions and roles; it asks through an interface of its own"},
	"podlogs": {2, []string{"object", "cluster"}, []string{machinery},
		"which containers are read, and when; it prints nothing"},
	"manifest/kustomize": {2, []string{"object", "boundedio", "plaintext", "manifest"},
		[]string{"sigs.k8s.io/kustomize", "sigs.k8s.io/yaml"},
		"kustomizations are built by their own library, and read as manifests"},
	"drift": {2, []string{"object", "builtin", "diff/jsonvalue"},
		[]string{machinery, "sigs.k8s.io/structured-merge-diff", "sigs.k8s.io/yaml"},
		"objects in, differences out; managedFields have the structure of the server"},
	"plan": {2, []string{"object", "graph", "diff", "mutation"}, []string{machinery},
		"deciding is pure"},
	"event": {3, []string{"object", "plan", "ready"}, []string{machinery}, "facts alone"},
	"owner": {1, []string{"object"}, []string{machinery},
		"marks of objects to owners; it lists records through an interface of its own"},
	"lock": {4, []string{"object", "cluster", "event"}, []string{machinery},
		"a lock is a Lease, and knows no set"},
	"history": {2, []string{"object", "boundedio", "cluster"},
		[]string{machinery, "golang.org/x/sync"},
		"revisions are Secrets; when one is written is decided above"},
	"history/origin": {3, []string{"history"}, nil,
		"it runs git, and reads what is handed in"},
	"sets/files": {6, []string{"boundedio", "manifest", "manifest/kustomize", "ready",
		"apps/config", "apps/input", "apps/resource", "packages", "suggest"}, nil,
		"the files of apps are read as those of packages"},
	"lock/cmd": {6, []string{"lock", "cli", "apps", "packages"},
		[]string{machinery, "github.com/spf13/cobra"}, "commands for both kinds of set"},
	"engine": {4, []string{"object", "diff", "mutation", "ready", "record", "cluster", "plan",
		"event"},
		[]string{machinery, "golang.org/x/sync"},
		"it reaches the server through cluster and prints nothing"},
	"engine/enginetest": {4, []string{"builtin", "object", "record", "cluster"},
		[]string{machinery, "gopkg.in/evanphx/json-patch.v4"},
		"support for tests"},
	"livetree": {2, []string{"object", "cluster", "ready"}, []string{machinery},
		"which objects are owned by which; it prints nothing"},
	"view": {4, []string{"object", "plaintext", "diff", "plan", "event", "ready", "livetree"},
		[]string{machinery, "sigs.k8s.io/yaml", "github.com/rogpeppe/go-internal/diff"},
		"shapes, no words"},
	"view/changes": {5, []string{"object", "plaintext", "diff", "view"},
		[]string{machinery, "sigs.k8s.io/yaml"}, "it prints, and runs a program of the user"},
	"fullscreen": {0, nil, []string{"golang.org/x/sys/unix", "golang.org/x/text/width"},
		"lines to a terminal, and keys from it"},
	"view/live": {5, []string{"object", "plaintext", "plan", "event", "ready", "fullscreen", "view"},
		nil, "what a screen shows; package fullscreen draws it"},
	"cli": {5, []string{"fullscreen", "object", "plaintext", "cluster", "event", "engine", "lock",
		"view", "manifest", "plan", "suggest"},
		[]string{"github.com/spf13", "k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd",
			"k8s.io/klog", "golang.org/x/term", "sigs.k8s.io/yaml", machinery},
		"flags, signals and exit codes"},
	"report": {4, []string{"object", "plaintext", "diff", "ready"}, nil,
		"JSON in, reports out: no cluster, no flags"},
	"output": {6, []string{"plan", "event", "view", "cli", "report", "suggest"},
		[]string{"github.com/spf13"}, "one run to many readers, and their files"},
	"packages/inventory": {2, []string{"object", "boundedio", "manifest", "record", "cluster"},
		[]string{machinery, "go.yaml.in/yaml", "sigs.k8s.io/yaml", "golang.org/x/sync"},
		"formats of the record; it reads and writes records alone"},
	"packages": {5, []string{"object", "boundedio", "manifest", "manifest/kustomize", "diff",
		"mutation", "ready", "ready/rules", "record", "cluster", "plan", "event", "engine", "lock",
		"view", "owner", "packages/inventory", "apps/resource", "apps/filter",
		"apps/config", "apps/changegraph", "apps/versions"},
		[]string{machinery, "sigs.k8s.io/yaml"},
		"operations on packages: no flags, no streams, no clock"},
	"packages/commands": {6, []string{"object", "ready", "plan", "event", "engine", "lock", "cli",
		"packages", "view"},
		[]string{machinery, "github.com/spf13"}, "flags and steps that two command lines share"},
	"packages/packagestest": {6, []string{"engine", "engine/enginetest", "event", "manifest", "object",
		"packages", "packages/inventory", "plan", "ready", "record", "view"}, []string{machinery},
		"support for tests"},
	"packages/cmd": {7, []string{"object", "plaintext", "manifest", "diff", "diff/jsonvalue",
		"mutation", "ready", "plan", "event", "engine", "lock", "view", "cli", "packages",
		"packages/inventory", "packages/commands", "cluster"},
		[]string{machinery, "github.com/spf13", "sigs.k8s.io/yaml"},
		"flags and output"},
	"sets": {7, []string{"object", "access", "plaintext", "manifest", "mutation", "diff", "ready",
		"record", "plan", "event", "drift", "engine", "lock", "view", "cluster", "podlogs", "history",
		"apps", "apps/app", "apps/config", "apps/resource", "apps/versions", "packages",
		"packages/inventory", "sets/files", "suggest"}, []string{machinery},
		"both kinds of set behind one interface: no flags, no output"},
	"sets/setflags": {8, []string{"ready", "cluster", "history", "view", "view/changes", "cli",
		"packages", "packages/commands", "sets", "sets/files",
		"suggest"}, []string{machinery, "github.com/spf13"},
		"which set a command is for, and in which cluster"},
	"sets/inspect": {9, []string{"object", "access", "boundedio", "drift", "plaintext", "diff",
		"graph/draw", "plan", "ready", "event", "engine", "cluster", "livetree", "podlogs", "history",
		"suggest", "view", "view/changes", "cli", "apps", "apps/filter", "packages", "packages/commands",
		"sets", "sets/setflags"},
		[]string{machinery, "github.com/spf13", "sigs.k8s.io/yaml"},
		"flags and output of the native commands that only read"},
	"sets/cmd": {10, []string{"object", "fullscreen", "plaintext", "diff", "ready", "plan", "event",
		"view/live",
		"engine", "cluster", "lock", "history", "history/origin", "view", "view/changes", "cli",
		"apps/filter", "output", "report", "packages", "packages/commands", "sets", "sets/inspect",
		"sets/setflags"},
		[]string{machinery, "github.com/spf13", "sigs.k8s.io/yaml"},
		"flags and output of the native commands that change sets"},
	"program": {11, []string{"cli", "reference", "apps/cmd", "lock/cmd", "packages/cmd", "sets/cmd",
		"sets/setflags"},
		[]string{"github.com/spf13"}, "the one place that knows all commands"},
	"reference": {0, nil, []string{"github.com/spf13"}, "commands to texts: it runs none"},
	"apps/resource": {1, []string{"plaintext"}, []string{machinery},
		"names, keys and annotations of one object"},
	"apps/textdiff": {1, nil, nil, "two texts in, lines out"},
	"apps/ytt": {1, nil, []string{machinery, "go.starlark.net", "go.yaml.in/yaml"},
		"pure: texts of rules and plain data"},
	"apps/app": {2, []string{"object", "cluster", "apps/resource"},
		[]string{machinery, "golang.org/x/sync"},
		"the records of apps are ConfigMaps; it reads and writes these alone"},
	"apps/filter": {2, nil, []string{machinery, "github.com/spf13/pflag"},
		"pure: which objects and changes are meant, and the flags for that"},
	"apps/input": {2, []string{"boundedio", "plaintext", "apps/resource"},
		[]string{machinery, "go.yaml.in/yaml"},
		"YAML is parsed by a library, by the rules of YAML 1.1 as kapp does"},
	"apps/judge": {2, []string{"object", "ready", "apps/resource"}, []string{machinery},
		"pure: objects to judgements"},
	"apps/preflight": {2, []string{"diff/jsonvalue"}, []string{machinery, "golang.org/x/sync"},
		"it asks the cluster through interfaces of its own"},
	"apps/config": {3, []string{"object", "ready", "apps/resource", "apps/judge", "apps/ytt"},
		[]string{machinery, "sigs.k8s.io/yaml", "go.yaml.in/yaml"},
		"pure: rules, and objects before and after them"},
	"apps/versions": {2, []string{"apps/resource"}, []string{machinery},
		"pure: names of versions, from objects and rules that are handed in"},
	"apps/changegraph": {4, []string{"graph", "apps/resource", "apps/config"}, []string{machinery},
		"pure: annotations and configuration to an order"},
	"apps/lastapplied": {4,
		[]string{"builtin", "apps/resource", "object", "diff/jsonvalue", "apps/config"},
		[]string{machinery, "go.yaml.in/yaml", "sigs.k8s.io/yaml"},
		"pure: annotations of objects, and a prediction from built-in types and defaults"},
	"apps/change": {4,
		[]string{"apps/resource", "apps/judge", "apps/textdiff", "diff/jsonvalue", "apps/config",
			"apps/versions"},
		[]string{machinery, "go.yaml.in/yaml", "sigs.k8s.io/yaml"},
		"pure: objects and rules to changes; what was applied last is handed in"},
	"apps/ui": {4, []string{"plaintext"},
		[]string{machinery + "/pkg/util/duration", "golang.org/x/term"},
		"texts to bytes; it knows neither objects nor the engine"},
	"apps": {5, []string{"object", "diff", "mutation", "ready", "record", "cluster", "plan", "event",
		"engine", "lock", "owner", "podlogs",
		"apps/resource", "apps/app", "apps/filter", "apps/input", "apps/judge", "apps/preflight",
		"apps/config", "apps/changegraph", "apps/lastapplied", "apps/change",
		"apps/versions"}, []string{machinery},
		"use cases as functions of a cluster and a request: no flags, no output, no environment"},
	"apps/cmd": {6, []string{"object", "boundedio", "plaintext", "ready", "ready/rules", "cluster",
		"plan", "event", "engine", "lock", "view", "cli", "apps", "apps/resource", "apps/textdiff",
		"apps/app", "apps/filter", "apps/input", "apps/judge", "apps/preflight",
		"apps/config", "apps/lastapplied", "apps/change", "apps/ui"},
		[]string{machinery, "github.com/spf13", "k8s.io/client-go/tools/clientcmd", "sigs.k8s.io/yaml"},
		"a dialect may use all below, and no other dialect"},
}

func TestImports(t *testing.T) {
	for dir, imports := range packages(t) {
		allowed, ok := boundaries[dir]
		if !ok {
			t.Errorf("internal/%s is not in the import table; add it, and run with -update", dir)
			continue
		}
		for _, imported := range imports {
			inside, ours := strings.CutPrefix(imported, module+"/internal/")
			switch {
			case ours && !slices.Contains(allowed.module, inside):
				t.Errorf("internal/%s imports internal/%s, which the table does not allow: %s",
					dir, inside, allowed.why)
			case ours && boundaries[inside].level >= allowed.level:
				t.Errorf("internal/%s (level %d) imports internal/%s (level %d)",
					dir, allowed.level, inside, boundaries[inside].level)
			case !ours && strings.Contains(imported, ".") && !hasPrefix(imported, allowed.libraries):
				t.Errorf("internal/%s imports %s, which the table does not allow: %s",
					dir, imported, allowed.why)
			}
		}
	}
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

// withoutPurposes removes the third column of a table: a new comment of a package does not fail the
// test. With -update it appears in the document.
func withoutPurposes(table string) string {
	return regexp.MustCompile(`(?m)^(\|[^|]*\|[^|]*\|)[^|]*\|`).ReplaceAllString(table, "$1")
}

// packageTable returns a row for each package, by level.
func packageTable(t *testing.T) string {
	t.Helper()
	purposes := map[string]string{}
	for line := range strings.Lines(run(t, "go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./...")) {
		dir, doc, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), module+"/internal/"), "\t")
		words := strings.SplitN(doc, " ", 3) // Package NAME PURPOSE
		purposes[dir] = strings.TrimPrefix(strings.TrimSuffix(words[len(words)-1], "."), "is ")
	}
	names := slices.SortedFunc(maps.Keys(boundaries), func(a, b string) int {
		return cmp.Or(cmp.Compare(boundaries[a].level, boundaries[b].level), cmp.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("| Level | Package | Purpose | May import |\n|---|---|---|---|\n")
	for _, name := range names {
		imports := strings.Join(boundaries[name].module, ", ")
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", boundaries[name].level, name, purposes[name],
			cmp.Or(imports, "none"))
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
// recognize those of the others.
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
		dialect, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if dialect == "packages" || dialect == "apps" || dialect == "owner" {
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
