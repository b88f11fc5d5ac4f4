package e2e

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// variable lists the parts of kapp's output that differ between runs: the address and the nodes of
// the cluster, times, ages, and the width of columns, which follows the length of namespaces.
var variable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`Target cluster '[^']*'( \(nodes: [^)]*\))?`), "Target cluster"},
	{regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d[AP]M: `), "TIME: "},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "WHEN"},
	{regexp.MustCompile(`\b\d+[smhd]\s{2,}`), "AGE  "},
	{regexp.MustCompile(`(age": ")\d+[smhd]"`), `${1}AGE"`},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}

// compare compares the last output of kapp with a file. It ignores variable parts. It sorts the
// lines with a time between two headings ("---- applying ..."), because objects of one round are
// written and become ready concurrently.
func compare(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, neg, "compare stdout|stderr FILE")
	want := strings.ReplaceAll(ts.ReadFile(args[1]), "${NS}", ts.Getenv("NS"))
	if !same(ts, compared(ts.ReadFile(args[0])), compared(want)) {
		ts.Fatalf("%s differs from %s", args[0], args[1])
	}
}

// compared returns the lines of an output as compare compares them. It marks blanks at the ends
// of lines.
func compared(text string) []string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	lines := strings.Split(strings.TrimRight(text, "\n")+"\n", "\n")
	begin := 0
	for i, line := range lines {
		event, timed := strings.CutPrefix(strings.TrimLeft(line, ` "`), "TIME: ")
		if !timed || strings.HasPrefix(event, "----") {
			slices.Sort(lines[begin:i])
			begin = i + 1
		}
		if strings.HasSuffix(line, " ") {
			lines[i] += "$"
		}
	}
	return lines
}
