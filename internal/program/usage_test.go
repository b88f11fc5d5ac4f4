package program

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// libraryText matches texts of libraries, without a way out.
var libraryText = regexp.MustCompile(
	`arg\(s\)|strconv|unknown command "[^"]*" for "[^"]*"\n|invalid argument .* for ".*" flag`)

// Wrong arguments of native commands are explained in one line of our own, with a way out.
func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	var lines []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		path := cmd.CommandPath()
		lines = append(lines, path+" a b c d e", path+" --absent", path+" -9", path+" --context")
		if cmd.Flag("yes") != nil {
			lines = append(lines, path+" --yes=x")
		}
		if cmd.Flag("timeout") != nil {
			lines = append(lines, path+" --timeout x", path+" --timeout")
		}
		if cmd.Args != nil && cmd.Args(cmd, nil) != nil {
			lines = append(lines, path)
		}
	}
	root := Commands(documented("muster"))
	for _, cmd := range root.Commands() {
		if cmd.GroupID == native && cmd.Name() != "completion" {
			walk(cmd)
		}
	}
	if len(lines) < 150 {
		t.Errorf("there are %d command lines only", len(lines))
	}
	for _, line := range append(lines, "muster aply", "muster foo --wait", "muster help foo",
		"muster help history foo --wait", "muster --absent", "muster groups foo", "muster alpha foo",
		"muster alpha aply", "muster why --revision x", "muster -9") {
		code, text := outcome(strings.Fields(line))
		if code != 1 || !strings.HasPrefix(text, "error: ") || strings.Count(text, "\n") != 1 ||
			libraryText.MatchString(text) {
			t.Errorf("%s\nexit code %d:\n%s", line, code, text)
		}
	}
}

// What is meant by an unknown command is in the same line.
func TestUnknownCommand(t *testing.T) {
	for line, want := range map[string]string{
		"aply -a web": `"aply" for "muster"; did you mean apply?; see`,
		"help aply":   `"aply" for "muster"; did you mean apply?; see`,
		"uninstall":   `"uninstall" for "muster"; did you mean destroy?; see`,
		"foo --wait":  `"foo" for "muster"; see`,
		"groups aply": `"aply" for "muster groups"; did you mean apply?; see`,
	} {
		if _, text := outcome(strings.Fields("muster " + line)); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", line, text, want)
		}
	}
}
