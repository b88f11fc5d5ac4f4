package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestKapp runs the scripts of testdata/kapp: apps, by the program's own commands and through a
// link named kapp.
func TestKapp(t *testing.T) {
	t.Parallel()
	testscript.Run(t, linked(params("kapp"), "kapp"))
}

// TestFront runs the scripts of testdata/front: native commands on packages and apps alike.
func TestFront(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	testscript.Run(t, linked(params("front"), "kapp"))
}

// TestKappSessions replays sessions of kapp with a link of that name to the program, and compares
// all that it prints. Where it differs on purpose the scripts say so; docs/compat-kapp.md has the
// list.
func TestKappSessions(t *testing.T) {
	t.Parallel()
	testscript.Run(t, linked(params("kappsessions"), "kapp"))
}

// TestKappBroken runs what breaks a part of the API that all can see: nothing else may run at the
// same time.
func TestKappBroken(t *testing.T) {
	testscript.Run(t, linked(params("kappbroken"), "kapp"))
}

// TestUnlisted breaks the conversion of a kind, which commands that look at all kinds notice.
func TestUnlisted(t *testing.T) {
	p := params("unlisted")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		// While a kind cannot be listed, no namespace can be deleted: not after a script that fails.
		env.Defer(func() {
			crd := "crd/widgets." + env.Getenv("NS") + ".example.com"
			for _, args := range [][]string{
				{"patch", crd, "--type=merge", "-p",
					`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`},
				{"delete", crd, "--wait=false"},
			} {
				args = append(args, "--kubeconfig", cluster.Kubeconfig())
				_ = exec.Command("kubectl", args...).Run() // a script that succeeds has deleted it
			}
		})
		return nil
	}
	testscript.Run(t, p)
}

// linked adds a link to the program to every script, under a name that the program knows.
func linked(p testscript.Params, name string) testscript.Params {
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		home := env.Getenv("HOME")
		env.Setenv("PATH", home+string(os.PathListSeparator)+env.Getenv("PATH"))
		return os.Symlink(filepath.Join(bin, "muster"), filepath.Join(home, name))
	}
	return p
}

// varyingApp lists the parts of kapp's output that differ between runs: addresses, times, generated
// names, and blanks between columns.
var varyingApp = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`), ""},
	{regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d[AP]M: `), ""},
	{regexp.MustCompile(`Target cluster '[^']*' \(nodes: [^)]*\)`), "Target cluster"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b\d{19}\b`), "LABEL"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: "0"`},
	{regexp.MustCompile(`\bv1\.[0-9a-f]{32}\b`), "v1.ASSOCIATION"},
	{regexp.MustCompile(`(original-diff-md5\W+)[0-9a-f]{32}\b`), "${1}MD5"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`generation \d+ to`), "generation N to"},
	{regexp.MustCompile(`-change-[a-z0-9]{5}\b`), "-change-HASH"},
	{
		regexp.MustCompile(`\b(web|app|stuck)-[bcdfghjklmnpqrstvwxz2456789]{6,10}(-[a-z0-9]{5})?\b`),
		"$1-HASH$2",
	},
	{regexp.MustCompile(`(-HASH|\bmigrate)-[a-z0-9]{5}\b`), "$1-POD"},
	{regexp.MustCompile(`\b(web|lb|app)-[a-z0-9]{5}\b`), "$1-SLICE"},
	{regexp.MustCompile(`([\t ])\d+[smh]([\t ])`), "${1}AGE$2"},
	{regexp.MustCompile(`(age": ")\d+[smh]"`), `${1}AGE"`},
	// apps of other scripts; the one session that shows a hint has a digit in the name of its app
	{regexp.MustCompile(` \(hint: found app '[a-z-]+' in other namespaces: [^)]*\)`), ""},
	{
		regexp.MustCompile(` *\t`),
		"|",
	}, // between the columns of plain tables
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

var (
	// Lines while waiting are dropped: they depend on the speed of the cluster.
	roundOfWaiting = regexp.MustCompile(`^---- waiting on \d+ changes`)
	stillWaiting   = regexp.MustCompile(`^ongoing: `)
	belowWaiting   = regexp.MustCompile(`^ +(\^|L) `)
	// Dropped: a busy server breaks off watches, or does not answer the first request of one.
	watchedAgain = regexp.MustCompile(`^info: Waiting: .*; what is waited for is looked for again$`)
	// Lines of finished deletions go to the end: garbage collection decides when they come.
	goneApp = regexp.MustCompile(`^ok: delete `)
	// Such neighbouring lines are sorted: writes are concurrent, and rows follow generated names.
	looseApp = regexp.MustCompile(
		`^(create|update|delete|noop|exists|ok: \w+) [a-z]+/|` +
			`^[^ |]+[ |] ?(L\.* )?[^ |]+[ |][A-Z][A-Za-z]+[ |](AGE|-|kapp|cluster)[ |]|` +
			`^[a-z]+-change-HASH `,
	)
	repeated = regexp.MustCompile(`^\^ `)
)

// normalApp returns the lines of a transcript of kapp as sessions are compared: without variable
// parts, with lines dropped and sorted as the patterns above say.
func normalApp(text string) []string {
	text = sortedRows(text)
	for _, v := range varyingApp {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	var lines, part, gone []string
	flush := func() {
		slices.Sort(part)
		lines, part = append(lines, part...), nil
	}
	waiting, first := false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.TrimSuffix(strings.TrimPrefix(line, ` "`), `\n",`)
		switch {
		case watchedAgain.MatchString(line):
		case roundOfWaiting.MatchString(line):
			waiting = false
		case stillWaiting.MatchString(line):
			waiting = true
		case waiting && belowWaiting.MatchString(line):
		case goneApp.MatchString(line):
			waiting = false
			gone = append(gone, line)
		case repeated.MatchString(line):
			part = append(part, first+strings.TrimPrefix(line, "^"))
		case looseApp.MatchString(line):
			waiting = false
			first, _, _ = strings.Cut(line, " ")
			part = append(part, line)
		default:
			waiting = false
			flush()
			lines = append(lines, line)
		}
	}
	flush()
	slices.Sort(gone)
	return append(lines, gone...)
}

// sortedRows puts the rows of the tables of a JSON document into an order that no made up names
// decide.
func sortedRows(text string) string {
	before, document, ok := strings.Cut(text, "[stdout]\n{\n")
	if !ok {
		return text
	}
	document, after, _ := strings.Cut("{\n"+document, "\n}\n")
	var fields map[string]any
	if err := json.Unmarshal([]byte(document+"\n}"), &fields); err != nil {
		return text
	}
	tables, _ := fields["Tables"].([]any)
	for _, table := range tables {
		rows, _ := table.(map[string]any)["Rows"].([]any)
		slices.SortFunc(rows, func(a, b any) int { return strings.Compare(kindOf(a), kindOf(b)) })
	}
	data, err := json.MarshalIndent(fields, "", "    ")
	if err != nil {
		return text
	}
	return before + "[stdout]\n" + string(data) + "\n" + after
}

func kindOf(row any) string {
	fields, _ := row.(map[string]any)
	kind, _ := fields["kind"].(string)
	name, _ := fields["name"].(string)
	return kind + " " + name
}
