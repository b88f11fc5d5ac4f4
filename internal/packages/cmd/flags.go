package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// choice is a flag with a fixed set of values. check enforces them, so that commands control the
// order of errors.
type choice struct {
	value   string
	meaning string // the flag's meaning, for the error
	allowed []string
	refusal string // instead of the usual error; a %q in it stands for the value
}

// outputs returns the choice of the output format. It and the functions below return the choices
// that several commands have.
func outputs() choice {
	return choice{value: "events", meaning: "output", allowed: []string{"events", "json", "table"}}
}

func adoptions() choice {
	return choice{
		value:   "strict",
		meaning: "inventory policy",
		allowed: []string{"strict", "adopt", "force-adopt"},
	}
}

func statusPolicies() choice {
	return choice{value: "all", meaning: "status policy", allowed: []string{"none", "all"}}
}

func propagations(what string) choice {
	return choice{
		value:   "Background",
		meaning: what,
		allowed: []string{"Background", "Foreground", "Orphan"},
	}
}

func orderings(value string) choice {
	return choice{value: value, meaning: "ordering", allowed: []string{"graph", "waves"}}
}

// String returns the value. With Set and Type, a choice is a pflag.Value.
func (c *choice) String() string { return c.value }

// Set sets any value.
func (c *choice) Set(value string) error {
	c.value = value
	return nil
}

// Type returns the word for the value in help.
func (c *choice) Type() string { return "string" }

// check returns an error for a value that is not allowed.
func (c *choice) check() error {
	switch {
	case slices.Contains(c.allowed, c.value):
		return nil
	case strings.Contains(c.refusal, "%q"):
		return fmt.Errorf(c.refusal, c.value)
	case c.refusal != "":
		return errors.New(c.refusal)
	default:
		return fmt.Errorf("%s must be one of %s", c.meaning, strings.Join(c.allowed, ", "))
	}
}

// checkChoices returns the error of the first invalid choice.
func checkChoices(choices ...*choice) error {
	for _, c := range choices {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the choice to a command, with completion.
func (c *choice) addTo(cmd *cobra.Command, v variant, name, usage string) {
	c.refusal = v.refusals[name]
	cmd.Flags().Var(c, name, fmt.Sprintf("%s. One of: (%s)", usage, strings.Join(c.allowed, ", ")))
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(
		name, cobra.FixedCompletions(c.allowed, cobra.ShellCompDirectiveNoFileComp),
	)
}

// folder returns the folder in the arguments, or the working folder.
func folder(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// completeFolders completes the one argument of a command with folders.
func completeFolders(
	_ *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// addLogLines adds the flag for the number of log lines.
func addLogLines(cmd *cobra.Command, lines *int) {
	cmd.Flags().IntVar(lines, "log-lines", 3,
		"Number of log lines to print for a failed container; 0 prints none")
}

// checkLogLines returns an error for a negative number.
func checkLogLines(lines int) error {
	if lines < 0 {
		return fmt.Errorf("--log-lines %d: must not be negative; 0 is none", lines)
	}
	return nil
}

// checkTimeout returns an error for a negative duration.
func checkTimeout(flag string, timeout time.Duration) error {
	if timeout < 0 {
		return fmt.Errorf("--%s %s: must not be negative; 0 is without limit", flag, timeout)
	}
	return nil
}

// addRules adds the flag for files of readiness rules.
func addRules(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "ready-rules", nil,
		"File with readiness rules; can be repeated")
}
