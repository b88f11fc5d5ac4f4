package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/base/suggest"
)

// otherWords are the words of other tools that users try, by the command that is meant.
var otherWords = map[string][]string{
	"apply":   {"create", "install", "run", "sync", "up", "update", "upgrade"},
	"destroy": {"down", "remove", "rm", "uninstall"},
	"inspect": {"describe", "show"},
	"list":    {"get", "ps"},
	"plan":    {"diff", "preview"},
	"status":  {"wait", "watch"},
}

// suggestCommands makes a root suggest commands for one that does not exist, by its letters or, for
// a word of another tool, by its meaning.
func suggestCommands(root *cobra.Command, args []string) {
	root.SuggestionsMinimumDistance = 2
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = append(cmd.SuggestFor, otherWords[cmd.Name()]...)
		cmd.SuggestionsMinimumDistance = 2 // letters
		if slices.ContainsFunc(cmd.SuggestFor, func(w string) bool { return slices.Contains(args, w) }) {
			root.SuggestionsMinimumDistance = 1 // two make init of wait
		}
	}
}

// validValues are the values of flags by their types, whose own errors name functions of Go.
var validValues = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"duration": "a time with a unit, such as 30s, 5m or 1h30m",
}

// libraryType returns the type of a value of the library; empty for another one, which has errors
// for people.
func libraryType(value pflag.Value) string {
	if !strings.HasPrefix(fmt.Sprintf("%T", value), "*pflag.") {
		return ""
	}
	return value.Type()
}

// flagError returns the error for invalid flags of a command, with a way out if a flag does not
// exist or has no value.
func flagError(cmd *cobra.Command, err error) error {
	unknown, incomplete := (*pflag.NotExistError)(nil), (*pflag.ValueRequiredError)(nil)
	invalid := (*pflag.InvalidValueError)(nil)
	switch {
	case errors.As(err, &incomplete):
		_, usage := pflag.UnquoteUsage(incomplete.GetFlag())
		return fmt.Errorf("%w: %s", err, usage)
	case errors.As(err, &invalid) && validValues[libraryType(invalid.GetFlag().Value)] != "":
		return fmt.Errorf("invalid argument %q for --%s: it must be %s", invalid.GetValue(),
			invalid.GetFlag().Name, validValues[libraryType(invalid.GetFlag().Value)])
	case !errors.As(err, &unknown):
		return err
	}
	if advice := adviceFor(cmd, unknown.GetSpecifiedName()); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	if name := unknown.GetSpecifiedName(); unknown.GetSpecifiedShortnames() == "" {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		if hint := suggest.Hint(name, known, "--"); hint != "" {
			return fmt.Errorf("%w%s", err, hint)
		}
	}
	return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
}

// hintValues makes a native command and those below it suggest what was meant by a value of a flag
// that has a fixed set of values.
func hintValues(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		hintValues(below)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		wrong := (*ChoiceError)(nil)
		if !errors.As(err, &wrong) {
			return err
		}
		form, _, _ := strings.Cut(wrong.Value, "=")
		if slices.Contains(templateForms, form) && slices.Contains(wrong.Allowed, OutputJSON) {
			return fmt.Errorf("%w; a program such as jq selects from -o json", err)
		}
		if hint := suggest.Hint(wrong.Value, wrong.Allowed, ""); hint != "" {
			return fmt.Errorf("%w%s", err, hint)
		}
		return err
	}
}
