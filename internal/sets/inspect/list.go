// Package inspect holds the native commands that show sets: their objects, logs, revisions and
// permissions. They change nothing but histories.
package inspect

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/sets"
)

// The output formats of list, beside JSON and YAML.
const (
	outputTable = "table"
	outputWide  = "wide"
	outputName  = "name"
)

// listFlags are the flags of list.
type listFlags struct {
	all    bool
	output cli.Choice
}

// NewList returns the command that lists sets.
func NewList(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := listFlags{output: cli.Choice{
		Value: outputTable, Meaning: "output",
		Allowed: []string{outputTable, outputWide, cli.OutputJSON, cli.OutputYAML, outputName},
	}}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the packages and apps in a namespace, or in all",
		Long: `List the packages and apps whose records are in a namespace, or in all namespaces, with the
number of objects and the result of the last run. The record of an app does not list its objects, so
that their number is not shown. The record of a package stores only how each object was applied or
deleted, so that its result says nothing about other errors. "unfinished" is a run that is in
progress or was interrupted; "unreadable" is a damaged record.

Exit codes:
  0  the sets were listed
  1  not all could be listed: the error says why`,
		Example: "  " + env.Name() + " list -A\n  " + env.Name() + " list -n shop -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env, kube)
		},
	}
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false,
		"List the sets of all namespaces")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *listFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	namespace := ""
	if !f.all {
		var err error
		if namespace, _, err = kube.Namespace(); err != nil {
			return err
		}
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	listed, failed := sets.List(ctx, client, namespace)
	for _, l := range listed {
		if l.Err != nil {
			env.Notice("Warning: " + l.Err.Error())
		}
	}
	document := f.output.Value == cli.OutputJSON || f.output.Value == cli.OutputYAML
	if len(listed) == 0 && (failed != nil || !document) {
		if failed == nil {
			env.Notice(noSets(namespace))
		}
		return failed
	}
	if err := f.print(env, listed); err != nil {
		return err
	}
	if failed != nil {
		return &cli.LateError{Err: failed}
	}
	return nil
}

// noSets returns the line for a namespace without sets; empty stands for all.
func noSets(namespace string) string {
	if namespace == "" {
		return "No packages or apps found"
	}
	return fmt.Sprintf("No packages or apps found in %s namespace.", namespace)
}

func (f *listFlags) print(env *cli.Env, listed []sets.Listed) error {
	switch f.output.Value {
	case outputName:
		for _, l := range listed {
			if _, err := fmt.Fprintf(env.Out, "%s/%s\n", l.Kind, l.Name); err != nil {
				return err
			}
		}
		return nil
	case outputTable, outputWide:
		return listTable(env, listed, f.output.Value == outputWide)
	default:
		document := listDocument{Items: make([]listItem, len(listed))}
		for i, l := range listed {
			document.Items[i] = newListItem(l)
		}
		return cli.Encode(env.Out, f.output.Value, document)
	}
}

// listTable prints a row for each set.
func listTable(env *cli.Env, listed []sets.Listed, wide bool) error {
	table := tabwriter.NewWriter(env.Out, 0, 8, 3, ' ', 0)
	fmt.Fprint(table, "KIND\tNAMESPACE\tNAME\tOBJECTS\tLAST RESULT\tAGE")
	if wide {
		fmt.Fprint(table, "\tLAST RUN\tRECORD\tID")
	}
	fmt.Fprintln(table)
	for _, l := range listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s", l.Kind, l.Namespace, l.Name,
			countText(l.Objects), known(string(l.LastResult)), ageText(env, l.Created))
		if wide {
			fmt.Fprintf(table, "\t%s\t%s\t%s", ageText(env, l.LastRun), l.Record.Short(),
				known(plaintext.Printable(l.Identity)))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// known returns a text, or a hyphen for an empty one.
func known(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// countText returns a number, or a hyphen for an unknown one.
func countText(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// ageText returns how long ago a time is, as kubectl writes it.
func ageText(env *cli.Env, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, env.Now().Sub(t)))
}

// listDocument is the JSON of list.
type listDocument struct {
	Items []listItem `json:"items"`
}

// listItem is the JSON of a set. Objects is absent if the record does not say.
type listItem struct {
	Kind       string      `json:"kind"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Record     string      `json:"record"`
	ID         string      `json:"id,omitempty"`
	Objects    *int        `json:"objects,omitempty"`
	LastResult sets.Result `json:"lastResult,omitempty"`
	LastRun    time.Time   `json:"lastRun,omitzero"`
	Created    time.Time   `json:"created,omitzero"`
	Error      string      `json:"error,omitempty"`
}

// newListItem returns the JSON of a set.
func newListItem(l sets.Listed) listItem {
	item := listItem{
		Kind: l.Kind, Namespace: l.Namespace, Name: l.Name, Record: l.Record.Short(), ID: l.Identity,
		LastResult: l.LastResult, LastRun: l.LastRun, Created: l.Created,
	}
	if l.Objects >= 0 {
		item.Objects = &l.Objects
	}
	if l.Err != nil {
		item.Error = l.Err.Error()
	}
	return item
}
