package e2e

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// What is different every time in what kapp tells. Columns are as wide as what stands in them.
var toldOnce = []struct {
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

// told compares the last output with a file, byte for byte but for times, ages, and the width of columns. Lines of a run may come
// in any order below a heading, since what is done at the same time is told as it is done.
func told(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, neg, "told stdout|stderr FILE")
	want := strings.ReplaceAll(ts.ReadFile(args[1]), "${NS}", ts.Getenv("NS"))
	if !same(ts, asTold(ts.ReadFile(args[0])), asTold(want)) {
		ts.Fatalf("%s is not as in %s", args[0], args[1])
	}
}

// asTold gives the lines of an output without what differs every time. Blanks at their ends are shown.
func asTold(text string) []string {
	for _, t := range toldOnce {
		text = t.pattern.ReplaceAllString(text, t.with)
	}
	lines := strings.Split(strings.TrimRight(text, "\n")+"\n", "\n")
	begin := 0
	for i, line := range lines {
		told, timed := strings.CutPrefix(strings.TrimLeft(line, ` "`), "TIME: ")
		if !timed || strings.HasPrefix(told, "----") {
			slices.Sort(lines[begin:i])
			begin = i + 1
		}
		if strings.HasSuffix(line, " ") {
			lines[i] += "$"
		}
	}
	return lines
}
