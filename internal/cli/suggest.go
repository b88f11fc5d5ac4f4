package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// suggest makes a root suggest commands for one that does not exist, by its letters or, for a word
// of another tool, by its meaning.
func suggest(root *cobra.Command, args []string) {
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = append(cmd.SuggestFor, otherWords[cmd.Name()]...)
		if slices.ContainsFunc(cmd.SuggestFor, func(w string) bool { return slices.Contains(args, w) }) {
			root.SuggestionsMinimumDistance = 1 // letters; the default of two makes init of wait
		}
	}
}

// flagError returns the error for invalid flags of a command, with a way out if a flag does not
// exist or has no value.
func flagError(cmd *cobra.Command, err error) error {
	unknown, incomplete := (*pflag.NotExistError)(nil), (*pflag.ValueRequiredError)(nil)
	switch {
	case errors.As(err, &incomplete):
		_, usage := pflag.UnquoteUsage(incomplete.GetFlag())
		return fmt.Errorf("%w: %s", err, usage)
	case !errors.As(err, &unknown):
		return err
	}
	if name := unknown.GetSpecifiedName(); unknown.GetSpecifiedShortnames() == "" {
		flags := &cobra.Command{SuggestionsMinimumDistance: min(2, len(name)/3)} // in letters
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
			}
		})
		if similar := flags.SuggestionsFor(name); len(similar) > 0 {
			return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(similar, " or --"))
		}
	}
	return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
}
