package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newOptions returns the command that lists the flags that every command has.
func newOptions(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the options that every command has",
		Args:  Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(env.Out, "The following options can be passed to any command:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}

// usage returns a function that prints the usage of a command as inner does. As in kubectl, it
// names the command options instead of listing the flags that every command has. It edits the text,
// since templates call methods by name, for which the linker would keep a quarter more code.
func usage(inner func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text strings.Builder
		cmd.SetOut(&text)
		err := inner(cmd)
		cmd.SetOut(out)
		if err != nil {
			return err
		}
		parts := slices.DeleteFunc(strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n\n"),
			func(part string) bool {
				return strings.HasPrefix(part, "Global Flags:\n") ||
					!cmd.HasParent() && strings.HasPrefix(part, "Flags:\n")
			})
		end := len(parts)
		if cmd.HasAvailableSubCommands() {
			end-- // how to get help about them
		}
		hint := fmt.Sprintf("Use \"%s options\" for a list of the options that every command has.",
			cmd.Root().Name())
		_, err = fmt.Fprintln(out, strings.Join(slices.Insert(parts, end, hint), "\n\n"))
		return err
	}
}
