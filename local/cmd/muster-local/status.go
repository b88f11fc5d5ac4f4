package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/local/plane"
)

func statusCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how the components of the plane are doing",
		Long: `Shows a line for each component, and below them the end of the log of each that has died.

Exit codes: 0 all components are healthy, 1 some are not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if p.Restarted(cmd.Context()) {
				fmt.Fprintf(
					out,
					"plane %q is not running: the machine was restarted since. Run \"muster-local up\".\n",
					t.name,
				)
				return errQuiet
			}
			if p.Server() == "" {
				fmt.Fprintf(out, "plane %q is down\n", t.name)
				return errQuiet
			}
			list := p.Status(cmd.Context())
			if err := printStatus(out, list); err != nil {
				return err
			}
			for _, c := range list {
				if !c.Healthy {
					return errQuiet
				}
			}
			return nil
		},
	}
}

// printStatus prints a table with one line for each component, and what did not fit into it below.
func printStatus(out io.Writer, list []plane.ComponentStatus) error {
	var text, more strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tSTATE\tDETAIL")
	for _, c := range list {
		pid := "-"
		if c.PID != 0 {
			pid = strconv.Itoa(c.PID)
		}
		first, rest, _ := strings.Cut(c.Detail, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Name, pid, state(c), first)
		if rest != "" {
			fmt.Fprintf(&more, "\nthe end of the log of %s:\n%s\n", c.Name, rest)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
	_, err := io.WriteString(out, more.String())
	return err
}

func state(c plane.ComponentStatus) string {
	switch {
	case c.Healthy:
		return "healthy"
	case c.Alive:
		return "unhealthy"
	}
	return "dead"
}
