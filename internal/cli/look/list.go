// Package look holds the native commands that show sets: their objects, logs, revisions and
// permissions. They change nothing but histories.
package look

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
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
	allNamespaces bool
	all           bool // the sets of other tools too
	selector      string
	output        cli.Choice
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
number of objects and the result of the last run. The record of an app that kapp was the last to
deploy does not list its objects, so that their number is not shown. The record of a package stores
only how each object was applied or deleted, so that its result says nothing about other errors.
"applied" is a run that did not wait until all objects were ready; "unfinished" is one that is in
progress or was interrupted; "unreadable" is a damaged record.

--all lists the sets of other tools too: Helm releases, ApplySets, the Kustomizations and HelmReleases
of Flux, and the Applications of Argo CD. TOOL is the program that deploys the set.

--selector selects sets by the labels of their records, which are those in the file of a package,
and those that 'kubectl label' has set.

Exit codes:
  0  the sets were listed
  1  not all could be listed: the error says why`,
		Example: "  " + env.Name() + " list -A\n  " + env.Name() + " list -A --all\n  " +
			env.Name() + " list -n shop -o json\n" +
			"  " + env.Name() + " list -A -l team=shop -o name",
		Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env, kube)
		},
	}
	cmd.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false,
		"List the sets of all namespaces")
	cmd.Flags().BoolVar(&f.all, "all", false, "List the sets of other tools, too")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "",
		"Only sets whose record this label query selects, as in kubectl (example: team=shop,tier!=test)")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *listFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--selector %s is not a label query: %w", f.selector, err)
	}
	namespace := ""
	if !f.allNamespaces {
		if namespace, _, err = kube.Namespace(); err != nil {
			return err
		}
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	list := sets.List
	if f.all {
		list = sets.ListAll
	}
	listed, failed := list(ctx, client, namespace)
	listed = slices.DeleteFunc(listed, func(l sets.Listed) bool { return !selector.Matches(l.Labels) })
	for _, l := range listed {
		if l.Err != nil {
			env.Notice("Warning: " + l.Err.Error())
		}
	}
	document := f.output.Value == cli.OutputJSON || f.output.Value == cli.OutputYAML
	if len(listed) == 0 && (failed != nil || !document) {
		if failed == nil {
			env.Notice(f.noSets(namespace))
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
func (f *listFlags) noSets(namespace string) string {
	what := "packages or apps"
	if f.all {
		what = "sets"
	}
	if f.selector != "" {
		what += " with labels " + f.selector
	}
	if namespace == "" {
		return "No " + what + " found"
	}
	return fmt.Sprintf("No %s found in %s namespace.", what, namespace)
}

func (f *listFlags) print(env *cli.Env, listed []sets.Listed) error {
	switch f.output.Value {
	case outputName:
		for _, l := range listed {
			if err := env.Print(plaintext.Line(l.Kind + "/" + l.Name)); err != nil {
				return err
			}
		}
		return nil
	case outputTable, outputWide:
		return f.table(env, listed)
	default:
		document := listDocument{Items: make([]listItem, len(listed))}
		for i, l := range listed {
			document.Items[i] = newListItem(l)
		}
		return cli.Encode(env.Out, f.output.Value, document)
	}
}

// ownTool is the tool of packages and apps in tables.
const ownTool = "muster"

// table prints a row for each set.
func (f *listFlags) table(env *cli.Env, listed []sets.Listed) error {
	wide := f.output.Value == outputWide
	table := tabwriter.NewWriter(env.Out, 0, 8, 3, ' ', 0)
	fmt.Fprint(table, "KIND\t")
	if f.all {
		fmt.Fprint(table, "TOOL\t")
	}
	fmt.Fprint(table, "NAMESPACE\tNAME\tOBJECTS\tLAST RESULT\tAGE")
	if wide {
		fmt.Fprint(table, "\tLAST RUN\tRECORD\tID")
	}
	fmt.Fprintln(table)
	for _, l := range listed {
		fmt.Fprintf(table, "%s\t", l.Kind)
		if f.all {
			fmt.Fprintf(table, "%s\t", plaintext.Line(toolOf(l)))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s", known(l.Namespace), plaintext.Line(l.Name),
			countText(l.Objects), known(plaintext.Line(string(l.LastResult))), ageText(env, l.Created))
		if wide {
			fmt.Fprintf(table, "\t%s\t%s\t%s", ageText(env, l.LastRun), l.Record.Short(),
				known(plaintext.Line(l.Identity)))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// toolOf returns the program that deploys a set.
func toolOf(l sets.Listed) string {
	if l.IsOwn() {
		return ownTool
	}
	return known(l.Tool)
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
	Tool       string      `json:"tool,omitempty"` // of the sets of other tools
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
		Kind: l.Kind, Tool: l.Tool, Namespace: l.Namespace, Name: l.Name, Record: l.Record.Short(),
		ID:         l.Identity,
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
