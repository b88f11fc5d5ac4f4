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

// TestLive replays sessions of kpt live with a link of that name to the program, and compares all that it prints. Where it
// differs on purpose the scripts say so; docs/compat-kpt.md has the list.
func TestLive(t *testing.T) {
	install := exec.Command("muster", "install-resource-group", "--kubeconfig", cluster.Kubeconfig())
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the ResourceGroup definition: %v\n%s", err, out)
	}
	testscript.Run(t, linked(params("live"), "kpt"))
}

// replay runs the commands of a session and compares what they print and how they end. In the file a command stands behind
// "$ ", then come the blocks [stdout] and [stderr], if there is something in them, and [exit CODE]. ${NS} stands for the
// namespace of the script, ${NS10} for as much of it, or of one whose name begins with it and -demo, as a table shows.
func replay(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "replay FILE")
	replayAs(ts, args[0], normal)
}

// replayApp does what replay does with a session of kapp.
func replayApp(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "replayapp FILE")
	replayAs(ts, args[0], normalApp)
}

func replayAs(ts *testscript.TestScript, file string, normal func(string) []string) {
	namespace := ts.Getenv("NS")
	text := strings.NewReplacer("${NS}", namespace, "${NS10}", (namespace + "-demo")[:10], "${WORK}", ts.Getenv("WORK")).Replace(ts.ReadFile(file))
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

// transcript runs a command line and gives what it prints, in the form of a session.
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

// same compares two transcripts, as far as they can be the same twice, and shows the difference.
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

// What is different every time: times, names that are made up, and how often a table was drawn.
var (
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
		{regexp.MustCompile(`  [0-9]+[smh] +`), "  0s  "},
		{regexp.MustCompile(`((?:ReplicaSet|Pod)/[a-z-]+)-[0-9a-z-]+ +`), "$1  "},
		{regexp.MustCompile(`(?m) +$`), ""},
		{regexp.MustCompile(`(\S)   +`), "$1  "},
		{regexp.MustCompile(`(?m)^.*(/hpa is |HorizontalPodAutoscaler/).*\n`), ""}, // its controller comes by now and then
		{regexp.MustCompile(`(?s)(NAMESPACE[^\n]*\n).*\nNAMESPACE[^\n]*\n`), "$1"},
	}
	// Whether an object is ready at the first look depends on how quick the cluster is.
	pendingLine = regexp.MustCompile(` reconcile pending$|"status":"Pending","timestamp":"TIME","type":"wait"}$`)
	// Of such lines, those that follow each other may come in any order: what is done at the same time, and what changes in
	// one object.
	looseLine = regexp.MustCompile(`^\S+ (apply|prune|delete|reconcile) |"type":"(apply|prune|delete|wait)"}$|^\t\t[-+]\.`)
	// These come whenever an object is seen.
	seenLine = regexp.MustCompile(`^[^ /]+/\S+ is [A-Z][a-zA-Z]+: |"type":"status"}$`)
	// Conditions stand in the order in which they were written first, and only as many as there is room for.
	conditions = regexp.MustCompile(`\b[A-Z][A-Za-z]+(,[A-Z][A-Za-z]*)+ `)
)

// conditionsWidth is how long a list of conditions is in a table that has room for no more.
const conditionsWidth = 40

// asSet makes a set of a list of conditions, and of one that is cut off what any other would be as well.
func asSet(list string) string {
	list = strings.TrimSuffix(list, " ")
	if len(list) == conditionsWidth {
		return "CONDITIONS "
	}
	names := strings.Split(list, ",")
	slices.Sort(names)
	return strings.Join(names, ",") + " "
}

// canonical writes the list that a plan is in the form krm with its fields in the order of their names. Other texts stay.
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

// normal gives the lines of a transcript without what differs every time: those that may come in any order sorted, and those
// for what was seen at the end.
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
