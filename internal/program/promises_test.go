package program

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// The commands and options that docs/compatibility.md promises, with shorthands, types and
// defaults, stay. What is removed is first deprecated for two minor versions, and then removed from
// testdata/promises.txt by hand.
func TestPromises(t *testing.T) {
	lines := append(promises(Commands(documented("muster"))), promises(Kapp(documented("kapp")))...)
	if len(lines) < 500 {
		t.Fatalf("found %d commands and options only", len(lines))
	}
	golden.Grow(t, "testdata/promises.txt", lines)
}

// promises returns a line for a command, its aliases and each option of its own, and those of the
// commands below it.
func promises(cmd *cobra.Command) []string {
	path := cmd.CommandPath()
	lines := []string{path}
	for _, alias := range cmd.Aliases {
		lines = append(lines, fmt.Sprintf("%s, also %s", path, alias))
	}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		line := path + " --" + f.Name
		if f.Shorthand != "" {
			line += ", -" + f.Shorthand
		}
		line += fmt.Sprintf(" %s, default %q", f.Value.Type(), f.DefValue)
		if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
			line += fmt.Sprintf(", without a value %q", f.NoOptDefVal)
		}
		lines = append(lines, line)
	})
	for _, child := range cmd.Commands() {
		if !child.Hidden && child.Name() != "help" {
			lines = append(lines, promises(child)...)
		}
	}
	return lines
}
