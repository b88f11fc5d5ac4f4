package kapp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The sections in which the program that is called kapp lists its commands.
var sections = []*cobra.Group{
	{ID: "app", Title: "App Commands:"},
	{ID: "app-support", Title: "App Support Commands:"},
	{ID: "misc", Title: "Misc Commands:"},
	{ID: otherSection, Title: "Available/Other Commands:"},
}

// otherSection is the section of commands that stand in no other.
const otherSection = "other"

// flagSection is a heading of the help of a command that deploys with the flags below it: those
// with the prefix and those of these names.
type flagSection struct {
	title  string
	prefix string
	names  []string
}

// flagSections are asked in order; what belongs to none comes last.
var flagSections = []flagSection{
	{"Common Flags:", "", []string{"namespace", "app", "file", "diff-changes"}},
	{"Diff Flags:", "diff", nil},
	{
		"Apply Flags:",
		"apply",
		[]string{
			"dangerous-allow-empty-list-of-resources",
			"dangerous-override-ownership-of-existing-resources",
			"dangerous-ownership-override-allowed-apps",
		},
	},
	{"Wait Flags:", "wait", nil},
	{"Resource Filter Flags:", "filter", nil},
	{"Resource Validation Flags:", "allow", nil},
	{"Resource Mangling Flags:", "", []string{"into-ns", "map-ns"}},
	{"Logs Flags:", "logs", nil},
	{"Delete Flags:", "delete-", nil},
}

func (s flagSection) has(name string) bool {
	return s.prefix != "" && strings.HasPrefix(name, s.prefix) || slices.Contains(s.names, name)
}

// sectioned makes the help of a command list its flags in sections.
func sectioned(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), sectionedUsage(cmd))
		return err
	})
}

func sectionedUsage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	parts := make([]*pflag.FlagSet, len(flagSections)+1)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		at := slices.IndexFunc(flagSections, func(s flagSection) bool { return s.has(flag.Name) })
		if at < 0 {
			at = len(flagSections)
		}
		if parts[at] == nil {
			parts[at] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		parts[at].AddFlag(flag)
	})
	for i, part := range parts {
		title := "Available/Other Flags:"
		if i < len(flagSections) {
			title = flagSections[i].title
		}
		if part != nil {
			fmt.Fprintf(&b, "\n%s\n%s", title, part.FlagUsages())
		}
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsages())
	}
	return b.String()
}

// exitCodes is the paragraph of help that lists the exit codes of commands that change a cluster.
const exitCodes = `

Exit codes:
  0    everything was done
  1    something went wrong: the error says what
  2    there was nothing to do, for those who ask with --diff-exit-status or --apply-exit-status
  3    there was something to do, for those who ask
  130  the run was interrupted; the same command continues`

// parent makes a command that only holds others. Called alone it names them and fails.
func parent(use, short string, aliases []string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Aliases: aliases, Args: cobra.ArbitraryArgs}
	cmd.AddCommand(children...)
	cmd.Short = short + " (" + names(children) + ")"
	cmd.RunE = func(*cobra.Command, []string) error {
		return fmt.Errorf("Use one of available subcommands: %s", names(children))
	}
	return cmd
}

// named puts the name by which the program was called into examples.
func (p *program) named(text string) string {
	return strings.ReplaceAll(text, "NAME", p.env.Name())
}

// names lists the names of commands in alphabetical order.
func names(cmds []*cobra.Command) string {
	var all []string
	for _, cmd := range cmds {
		all = append(all, cmd.Name())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// alone refuses arguments that are no flags.
func alone(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("command '%s' does not accept extra arguments '%s'", cmd.CommandPath(),
			args[0])
	}
	return nil
}
