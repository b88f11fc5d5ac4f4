package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ExitCodes returns a page with the exit codes of all commands below a root: a row for each meaning
// of a code, with the commands that have it.
func ExitCodes(root Command) string {
	commands := map[Exit][]string{}
	var silent []string
	for _, c := range root.Leaves() {
		if len(c.Exits) == 0 {
			silent = append(silent, "`"+c.Path+"`")
		}
		for _, e := range c.Exits {
			commands[e] = append(commands[e], "`"+c.Path+"`")
		}
	}
	var exits []Exit
	for e := range commands {
		exits = append(exits, e)
	}
	slices.SortFunc(exits, func(a, b Exit) int {
		x, _ := strconv.Atoi(a.Code) // the help has numbers; others come first
		y, _ := strconv.Atoi(b.Code)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(len(commands[b]), len(commands[a])),
			strings.Compare(a.Meaning, b.Meaning))
	})
	var b strings.Builder
	b.WriteString("# Exit codes\n\nThis table comes from the help of the commands. " +
		"Besides, a second Ctrl-C ends any command with 130, an internal error with 1,\n" +
		"and a reader that closes the output with 141.\n\n" +
		"| Code | Meaning | Commands |\n|---|---|---|\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Code, strings.ReplaceAll(e.Meaning, "|", `\|`),
			strings.Join(commands[e], ", "))
	}
	if len(silent) > 0 {
		fmt.Fprintf(&b, "\nThe help of %s\nlists no codes: 0 is success, and 1 an error.\n",
			strings.Join(silent, ", "))
	}
	return b.String()
}
