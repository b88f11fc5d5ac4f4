package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newOptions returns the command that lists the flags that every command has.
func newOptions(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the options that every command has",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(env.Out, "The following options can be passed to any command:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}

// usageTemplate returns the template of help: like kubectl's it names the command options instead
// of listing the flags that every command has.
func usageTemplate(root *cobra.Command) string {
	const inherited, end = "{{if .HasAvailableInheritedFlags}}", "{{end}}"
	before, rest, ok := strings.Cut(root.UsageTemplate(), inherited)
	if !ok {
		return root.UsageTemplate()
	}
	_, after, _ := strings.Cut(rest, end)
	before = strings.Replace(before, "{{if .HasAvailableLocalFlags}}",
		"{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	return before + "\n\nUse \"" + root.Name() +
		" options\" for a list of the options that every command has." + after
}
