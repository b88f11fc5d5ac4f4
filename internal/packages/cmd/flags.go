package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// choice is a flag with a fixed set of values, which check enforces: in which order wrong flags are told is the command's.
type choice struct {
	value   string
	what    string // the flag's meaning, for the error
	allowed []string
	refusal string // instead of the usual error; a %q in it stands for the value
}

// outputs, adoptions, statusPolicies, propagations and orderings are the choices that several commands offer.
func outputs() choice {
	return choice{value: "events", what: "output", allowed: []string{"events", "json", "table"}}
}

func adoptions() choice {
	return choice{value: "strict", what: "inventory policy", allowed: []string{"strict", "adopt", "force-adopt"}}
}

func statusPolicies() choice {
	return choice{value: "all", what: "status policy", allowed: []string{"none", "all"}}
}

func propagations(what string) choice {
	return choice{value: "Background", what: what, allowed: []string{"Background", "Foreground", "Orphan"}}
}

func orderings(value string) choice {
	return choice{value: value, what: "ordering", allowed: []string{"graph", "waves"}}
}

// String, Set and Type make a choice a pflag.Value.
func (c *choice) String() string { return c.value }

// Set takes the value of the flag, whatever it is.
func (c *choice) Set(value string) error {
	c.value = value
	return nil
}

// Type is the word for the value in help.
func (c *choice) Type() string { return "string" }

// check refuses a value that is not among those allowed.
func (c *choice) check() error {
	switch {
	case slices.Contains(c.allowed, c.value):
		return nil
	case strings.Contains(c.refusal, "%q"):
		return fmt.Errorf(c.refusal, c.value)
	case c.refusal != "":
		return errors.New(c.refusal)
	default:
		return fmt.Errorf("%s must be one of %s", c.what, strings.Join(c.allowed, ", "))
	}
}

// checkChoices gives the first error of choices.
func checkChoices(choices ...*choice) error {
	for _, c := range choices {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// addTo makes the choice a flag of a command, with its values offered by the shell.
func (c *choice) addTo(cmd *cobra.Command, g grammar, name, usage string) {
	c.refusal = g.refusals[name]
	cmd.Flags().Var(c, name, fmt.Sprintf("%s: %s", usage, strings.Join(c.allowed, ", ")))
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.allowed, cobra.ShellCompDirectiveNoFileComp))
}

// folder is the package folder of the arguments: the working folder if there is none.
func folder(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// completeFolders has the shell offer folders for the one argument that commands take.
func completeFolders(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// addLogLines gives a command the flag that says how much of logs is quoted.
func addLogLines(cmd *cobra.Command, lines *int) {
	cmd.Flags().IntVar(lines, "log-lines", 3, "how many lines to quote of the log of a container that ended badly; 0 is none")
}

// checkLogLines refuses less than nothing of a log.
func checkLogLines(lines int) error {
	if lines < 0 {
		return fmt.Errorf("--log-lines %d: must not be negative; 0 is none", lines)
	}
	return nil
}

// checkTimeout refuses a time that has passed before it begins.
func checkTimeout(flag string, timeout time.Duration) error {
	if timeout < 0 {
		return fmt.Errorf("--%s %s: must not be negative; 0 is without limit", flag, timeout)
	}
	return nil
}

// addRules gives a command the flag for files of rules.
func addRules(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "ready-rules", nil, "file of rules that say when objects are ready; may be repeated")
}
