package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Choice is a flag with a fixed set of values. Check enforces them, so that commands control the
// order of errors.
type Choice struct {
	Value   string
	Meaning string // the flag's meaning, for the error
	Allowed []string
	Aliases map[string]string // other names of values, which help does not list
	Refusal string            // instead of the usual error; a %q in it stands for the value
	Default string            // what no value means, for help; empty if there must be a value
}

// String returns the value. With Set and Type, a Choice is a pflag.Value.
func (c *Choice) String() string { return c.Value }

// Set sets any value, of an alias the one that it stands for.
func (c *Choice) Set(value string) error {
	c.Value = value
	if meant, ok := c.Aliases[value]; ok {
		c.Value = meant
	}
	return nil
}

// Type returns the word for the value in help.
func (c *Choice) Type() string { return "string" }

// Check returns an error for a value that is not allowed.
func (c *Choice) Check() error {
	switch {
	case slices.Contains(c.Allowed, c.Value), c.Value == "" && c.Default != "":
		return nil
	case strings.Contains(c.Refusal, "%q"):
		return fmt.Errorf(c.Refusal, c.Value)
	case c.Refusal != "":
		return errors.New(c.Refusal)
	default:
		return &ChoiceError{Meaning: c.Meaning, Value: c.Value, Allowed: c.Allowed}
	}
}

// ChoiceError reports a value that is not allowed.
type ChoiceError struct {
	Meaning string // of the flag
	Value   string
	Allowed []string
}

func (e *ChoiceError) Error() string {
	return fmt.Sprintf("%s must be one of %s", e.Meaning, strings.Join(e.Allowed, ", "))
}

// CheckChoices returns the error of the first invalid choice.
func CheckChoices(choices ...*Choice) error {
	for _, c := range choices {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// AddTo adds the choice to a command, with completion.
func (c *Choice) AddTo(cmd *cobra.Command, name, usage string) {
	c.AddShortTo(cmd, name, "", usage)
}

// AddShortTo adds the choice to a command under a name and a shorthand, with completion.
func (c *Choice) AddShortTo(cmd *cobra.Command, name, shorthand, usage string) {
	usage = fmt.Sprintf("%s. One of: (%s)", usage, strings.Join(c.Allowed, ", "))
	if c.Default != "" {
		usage += "; default: " + c.Default
	}
	cmd.Flags().VarP(c, name, shorthand, usage)
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(
		name, cobra.FixedCompletions(c.Allowed, cobra.ShellCompDirectiveNoFileComp),
	)
}

// Folder returns the folder in the arguments, or the working folder.
func Folder(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// AddLogLines adds the flag for the number of log lines.
func AddLogLines(cmd *cobra.Command, lines *int) {
	cmd.Flags().IntVar(lines, "log-lines", 3,
		"Number of log lines to print for a failed container; 0 prints none")
}

// CheckLogLines returns an error for a negative number.
func CheckLogLines(lines int) error {
	if lines < 0 {
		return fmt.Errorf("--log-lines %d: must not be negative; 0 is none", lines)
	}
	return nil
}

// CheckTimeout returns an error for a negative duration.
func CheckTimeout(flag string, timeout time.Duration) error {
	if timeout < 0 {
		return fmt.Errorf("--%s %s: must not be negative; 0 is without limit", flag, timeout)
	}
	return nil
}

// AddRules adds the flag for files of readiness rules.
func AddRules(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "ready-rules", nil,
		"File with readiness rules; can be repeated")
}
