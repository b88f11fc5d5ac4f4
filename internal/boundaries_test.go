package internal

import "strings"

// rule is what the packages of a folder may import besides each other: other folders of this
// module, by their path below internal, and libraries, by prefix.
type rule struct {
	folder    string
	imports   []string
	libraries []string
	why       string
}

// machinery is the part of the Kubernetes libraries that describes objects and talks to nobody.
const machinery = "k8s.io/apimachinery"

// data are the packages of the core that do no I/O, and core all of them.
var (
	data = []string{
		"base", "builtin", "diff", "event", "foreign", "graph", "managers", "manifest", "mutation",
		"object", "openapi", "owner", "plan", "ready", "record",
	}
	core = append([]string{"cluster", "engine", "history", "lock"}, data...)
)

// rules are the import rules, lower folders first. For a package the longest folder counts that it
// is in.
var rules = []rule{
	{"base", nil, nil, "it knows no objects"},
	{"base/boundedcel", nil, []string{"github.com/google/cel-go"}, "it evaluates expressions"},
	{"base/reference", nil, []string{"github.com/spf13"}, "it describes commands"},
	{"base/yamltext", nil, []string{"sigs.k8s.io/yaml"}, "values to texts"},
	{"managers", nil, []string{"sigs.k8s.io/yaml"}, "names in, classes out"},
	{"foreign", nil, nil, "it recognizes texts"},
	{"graph", nil, nil, "it holds algorithms"},
	{"openapi", nil, nil, "schemas and values"},
	{"object", nil, []string{machinery}, "identities alone"},
	{"record", []string{"object"}, []string{machinery}, "it defines data, and talks to no server"},
	{"owner", []string{"object"}, []string{machinery}, "marks alone"},
	{"builtin", nil, []string{machinery, "k8s.io/api", "sigs.k8s.io/yaml"},
		"tables of the built-in kinds"},
	{"mutation", []string{"object"}, []string{machinery, "github.com/spyzhov/ajson"},
		"values to values"},
	{"manifest", []string{"base", "foreign", "object"}, []string{machinery, "go.yaml.in/yaml"},
		"texts to objects"},
	{"manifest/kustomize", []string{"base", "manifest"},
		[]string{"go.yaml.in/yaml", "sigs.k8s.io/kustomize", "sigs.k8s.io/yaml"}, "folders to texts"},
	{"diff", []string{"base", "builtin", "object"},
		[]string{machinery, "k8s.io/client-go/applyconfigurations", "k8s.io/client-go/kubernetes/scheme",
			"k8s.io/client-go/util", "sigs.k8s.io/structured-merge-diff"}, "objects to differences"},
	{"ready", []string{"base", "object"},
		[]string{machinery, "github.com/google/cel-go", "go.yaml.in/yaml"}, "objects to statuses"},
	{"plan", data, []string{machinery}, "it decides without any I/O, and knows no dialect"},
	{"event", []string{"object", "plan", "ready"}, []string{machinery}, "facts alone"},
	{"cluster", []string{"base", "object", "openapi"}, []string{machinery, "golang.org/x",
		"k8s.io/client-go"}, "it is the only package that talks to an API server"},
	{"engine", core, []string{machinery, "golang.org/x/sync"},
		"it knows no dialect, and prints nothing"},
	{"history", core, []string{machinery, "golang.org/x/sync"}, "Secrets of a set"},
	{"lock", core, []string{machinery}, "Leases of a set"},
	{"feature", core, []string{machinery, "golang.org/x/sync", "sigs.k8s.io/structured-merge-diff"},
		"it neither parses flags nor prints"},
	{"feature/artifact", []string{"base"}, []string{"github.com/blang/semver",
		"github.com/opencontainers", "oras.land/oras-go", "sigs.k8s.io/yaml"},
		"folders to registries and back; it knows no objects"},
	{"show", append([]string{"feature/livetree"}, core...),
		[]string{machinery, "github.com/rogpeppe/go-internal", "golang.org/x/sys", "golang.org/x/term",
			"golang.org/x/text", "sigs.k8s.io/yaml"}, "it prints, and has no flags"},
	{"sets/policy", core, []string{machinery, "github.com/spf13/pflag", "go.starlark.net",
		"go.yaml.in/yaml", "golang.org/x/sync", "sigs.k8s.io/yaml"},
		"keys, annotations and rules of kapp, as data"},
	{"sets/packages/inventory", core, []string{machinery, "go.yaml.in/yaml", "golang.org/x/sync",
		"sigs.k8s.io/yaml"}, "the record of a package"},
	{"sets/operation",
		append([]string{"sets/packages/inventory", "sets/policy", "show/view"}, core...),
		[]string{machinery}, "what is done to a set of any format"},
	{"sets/packages", append([]string{"sets/operation", "sets/policy", "show/view"}, core...),
		[]string{machinery, "go.yaml.in/yaml", "golang.org/x/sync", "sigs.k8s.io/yaml"},
		"one of the two formats"},
	{"sets/input", append([]string{"feature/artifact", "sets/packages", "sets/policy"}, core...),
		[]string{machinery, "go.yaml.in/yaml", "sigs.k8s.io/yaml"}, "files to objects"},
	{"sets/app", append([]string{"sets/input", "sets/policy"}, core...),
		[]string{machinery, "go.yaml.in/yaml", "golang.org/x/sync", "sigs.k8s.io/yaml"},
		"the other format"},
	{"sets", append([]string{"feature", "show/view"}, core...),
		[]string{machinery}, "the use cases of both; it has no flags, and prints nothing"},
	{"cli", append([]string{"feature", "sets", "show"}, core...),
		[]string{machinery, "github.com/spf13", "golang.org/x/term", "k8s.io/client-go", "k8s.io/klog",
			"sigs.k8s.io/yaml"}, "the native commands; nothing below it parses flags"},
	{"compat", append([]string{"cli", "feature/podlogs", "sets", "show"}, core...),
		[]string{machinery, "github.com/spf13", "go.yaml.in/yaml", "golang.org/x", "k8s.io/client-go",
			"sigs.k8s.io/yaml"}, "the grammars of kapp and kpt live"},
	{"program", []string{"base", "cli", "compat"}, []string{"github.com/spf13"},
		"it puts all commands together"},
	{"testing", append([]string{"sets", "show"}, core...),
		[]string{machinery, "github.com/google/go-cmp", "golang.org/x", "gopkg.in/evanphx",
			"k8s.io/client-go", "sigs.k8s.io/structured-merge-diff"}, "for tests alone"},
}

// ruleOf returns the index of the rule for a package or a folder; -1 if there is none.
func ruleOf(dir string) int {
	found := -1
	for i, r := range rules {
		longer := found < 0 || len(r.folder) > len(rules[found].folder)
		if longer && (dir == r.folder || strings.HasPrefix(dir, r.folder+"/")) {
			found = i
		}
	}
	return found
}
