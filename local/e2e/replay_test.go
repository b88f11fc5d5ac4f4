package e2e

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// TestLive replays sessions of kpt live with a link of that name to the program, and compares all
// that it prints. Where it differs on purpose the scripts say so; docs/compat-kpt.md has the list.
func TestLive(t *testing.T) {
	t.Parallel()
	install := exec.Command("muster", "install-resource-group", "--kubeconfig", cluster.Kubeconfig())
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the ResourceGroup definition: %v\n%s", err, out)
	}
	testscript.Run(t, linked(params("live"), "kpt"))
}

// replay runs the commands of a session and compares their output and exit codes, as normal says.
// In the file a command follows "$ ", then come the blocks [stdout] and [stderr] if they are not
// empty, and [exit CODE]. ${NS} is the namespace of the script, and ${NS10} its first ten
// characters, as tables cut it, with -demo added if it is shorter.
func replay(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "replay FILE")
	replayAs(ts, args[0], normal)
}

// replayApp replays a session of kapp, compared as normalApp says.
func replayApp(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "replayapp FILE")
	replayAs(ts, args[0], normalApp)
}

func replayAs(ts *testscript.TestScript, file string, normal func(string) []string) {
	namespace := ts.Getenv("NS")
	text := strings.NewReplacer("${NS}", namespace, "${NS10}", (namespace + "-demo")[:10], "${WORK}",
		ts.Getenv("WORK")).
		Replace(ts.ReadFile(file))
	commands := strings.Split("\n"+text, "\n$ ")[1:]
	if len(commands) == 0 {
		ts.Fatalf("%s has no commands", file)
	}
	for _, command := range commands {
		line, want, _ := strings.Cut(command, "\n")
		got := transcript(ts, line)
		if same(ts, normal(got), normal(want)) {
			continue
		}
		ts.Fatalf("%s: %s printed something else", file, line)
	}
}

// transcript runs a command line and returns its output in the form of a session.
func transcript(ts *testscript.TestScript, line string) string {
	err := ts.Exec("sh", "-c", line)
	code := 0
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		code = exited.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", line, err)
	}
	var b strings.Builder
	for _, stream := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(stream); text != "" {
			b.WriteString("[" + stream + "]\n" + strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return b.String() + "[exit " + strconv.Itoa(code) + "]\n"
}

// same reports whether the lines are equal, and logs the difference.
func same(ts *testscript.TestScript, g, w []string) bool {
	if slices.Equal(g, w) {
		return true
	}
	for _, line := range w {
		if !slices.Contains(g, line) {
			ts.Logf("- %s", line)
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			ts.Logf("+ %s", line)
		}
	}
	ts.Logf("got, in full:\n%s\nwant, in full:\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	return false
}

var (
	// varying lists the parts that differ between runs: times, generated names, widths of columns,
	// and how often a table was redrawn. The controller of a HorizontalPodAutoscaler runs every few
	// seconds, so that its lines are dropped.
	varying = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`), ""},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
		{regexp.MustCompile(`inventory-\d{8}`), "inventory-00000000"},
		{regexp.MustCompile(`[0-9a-f]{40}-\d{19}`), "ID"},
		{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
		{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: "0"`},
		{regexp.MustCompile(`  ([0-9]+[smhd])+ +`), "  0s  "},
		{regexp.MustCompile(`((?:ReplicaSet|Pod)/[a-z-]+)-[0-9a-z-]+ +`), "$1  "},
		{regexp.MustCompile(`(?m) +$`), ""},
		{regexp.MustCompile(`(\S)   +`), "$1  "},
		{regexp.MustCompile(`(?m)^.*(/hpa is |HorizontalPodAutoscaler/).*\n`), ""},
		{regexp.MustCompile(`(?s)(NAMESPACE[^\n]*\n).*\nNAMESPACE[^\n]*\n`), "$1"},
	}
	// Dropped: whether an object is ready at the first look depends on the speed of the cluster.
	pendingLine = regexp.MustCompile(
		` reconcile pending$|"status":"Pending","timestamp":"TIME","type":"wait"}$`,
	)
	// Sorted among neighbours: writes are concurrent, and fields of one object come in any order.
	looseLine = regexp.MustCompile(
		`^\S+ (apply|prune|delete|reconcile) |"type":"(apply|prune|delete|wait)"}$|^\t\t[-+]\.`,
	)
	// Moved to the end and sorted: such a line comes with every watch event.
	seenLine = regexp.MustCompile(`^[^ /]+/\S+ is [A-Z][a-zA-Z]+: |"type":"status"}$`)
	// Sorted: controllers add conditions in any order. A list that was cut is ignored.
	conditions = regexp.MustCompile(`\b[A-Z][A-Za-z]+(,[A-Z][A-Za-z]*)+ `)
)

// conditionsWidth is the width of the column of conditions: longer lists are cut.
const conditionsWidth = 40

// asSet sorts a list of conditions. All lists that were cut become the same.
func asSet(list string) string {
	list = strings.TrimSuffix(list, " ")
	if len(list) == conditionsWidth {
		return "CONDITIONS "
	}
	names := strings.Split(list, ",")
	slices.Sort(names)
	return strings.Join(names, ",") + " "
}

// canonical sorts the fields of a plan in the form krm. Other texts do not change.
func canonical(text string) string {
	before, list, ok := strings.Cut(text, "\napiVersion: config.kubernetes.io/v1\n")
	if !ok {
		return text
	}
	list, after, _ := strings.Cut(list, "\n[")
	var fields any
	if err := yaml.Unmarshal([]byte(list), &fields); err != nil {
		return text
	}
	data, err := yaml.Marshal(fields)
	if err != nil {
		return text
	}
	return before + "\n" + string(data) + "[" + after
}

// normal returns the lines of a transcript of kpt as sessions are compared: without variable parts,
// with lines dropped, sorted and moved as the patterns above say.
func normal(text string) []string {
	text = canonical(text)
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	text = conditions.ReplaceAllStringFunc(text, asSet)
	var lines, part, seen []string
	flush := func() {
		slices.Sort(part)
		lines, part = append(lines, part...), nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case pendingLine.MatchString(line):
		case seenLine.MatchString(line):
			seen = append(seen, line)
		case looseLine.MatchString(line):
			part = append(part, line)
		default:
			flush()
			lines = append(lines, line)
		}
	}
	flush()
	slices.Sort(seen)
	return append(lines, seen...)
}
