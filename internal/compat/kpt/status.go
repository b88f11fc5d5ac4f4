package kpt

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/show/view"
)

// statusFlags are the flags of status.
type statusFlags struct {
	packageflags.StatusFlags
	output cli.Choice
}

func newStatus(env *cli.Env, kube *cli.Kube, words string) *cobra.Command {
	f := statusFlags{StatusFlags: packageflags.NewStatusFlags(), output: outputs()}
	f.Until.Refusal = "pollUntil must be one of known,current,deleted,forever"
	name := env.Name() + " " + words
	cmd := &cobra.Command{
		Use:   "status [FOLDER | -]",
		Short: "Show the status of the objects of a package",
		Long: `Show the status of the objects that the package in a folder (default: the working
folder) or on the standard input (-) deployed: once, or as it changes until all are ready or
deleted. With --inv-type remote, show the objects of all inventories in the cluster, or in the
namespace of --namespace.

Exit codes:
  0    the state was shown
  1    the state could not be read: the error says why
  130  interrupted`,
		Example: "  " + name + " status wordpress\n" +
			"  " + name + " status wordpress --poll-until current --timeout 2m --output table",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, cli.Folder(args))
		},
	}
	f.output.AddTo(cmd, "output", "Output format")
	f.Add(cmd)
	return cmd
}

func (f statusFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string) error {
	if err := f.Check(&f.output); err != nil {
		return err
	}
	if f.Remote() {
		dir = ""
	}
	rules, err := readRules(ctx, f.RuleFiles, dir)
	if err != nil {
		return err
	}
	_, err = f.Run(ctx, env, packageflags.StatusForm{
		Rules: rules, JSON: f.output.Value == view.OutputJSON,
		Targets: func(ctx context.Context) (*operation.StatusTargets, cluster.Writer, error) {
			return f.targets(ctx, env, kube, dir)
		},
		Printer: func(
			out io.Writer, m *operation.StatusTargets, children view.ChildRows,
		) view.Printer {
			return f.printer(env, out, m, children)
		},
	})
	return err
}

// targets connects and returns the objects to show.
func (f statusFlags) targets(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string,
) (*operation.StatusTargets, cluster.Writer, error) {
	if f.Remote() {
		namespace, err := kube.NamespaceFlag()
		if err != nil {
			return nil, nil, err
		}
		client, err := kube.Client()
		if err != nil {
			return nil, nil, err
		}
		m, err := packages.RemoteMembers(ctx, client, namespace, f.Records, env.Notice)
		return m, client, err
	}
	inv, err := packages.OpenInventory(ctx, packageflags.Input(env, dir, ""))
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	m, err := packages.LocalMembers(ctx, client, inv, nil)
	return m, client, err
}

func (f statusFlags) printer(
	env *cli.Env, out io.Writer, m *operation.StatusTargets, children view.ChildRows,
) view.Printer {
	switch f.output.Value {
	case view.OutputTable:
		return view.Table(out, env.Terminal(), rowsOf(m), view.TableOptions{
			Columns: liveStatusTable(m, env.Now), Children: children,
			Show: func(m view.TableRow) bool { return f.Matches(event.Event{Status: m.Status}) },
		})
	case view.OutputJSON:
		return view.StatusJSON(out, view.StatusOptions{
			Inventories: m.Inventories, Show: f.Matches, Now: env.Now,
		})
	default:
		return view.StatusLines(out, f.Matches, func(e event.Event) string { return liveStatus(m, e) })
	}
}

// liveStatus formats the status of an object as kpt live does: a line for each inventory, with an
// empty namespace for cluster-scoped objects.
func liveStatus(m *operation.StatusTargets, e event.Event) string {
	kind, name, _ := strings.Cut(e.Ref.Short(), "/")
	var lines []string
	for _, inv := range m.Inventories(e.Ref) {
		lines = append(lines, fmt.Sprintf(
			"%s/%s/%s/%s is %s: %s", inv.Name, kind, e.Ref.Namespace, name, e.Status.State,
			e.Status.Message,
		))
	}
	return strings.Join(lines, "\n")
}

// inventoryNames returns the names of the inventories of an object.
func inventoryNames(m *operation.StatusTargets, ref object.Ref) string {
	names := make([]string, len(m.Owners[ref]))
	for i, inv := range m.Owners[ref] {
		names[i] = inv.Name
	}
	return strings.Join(names, ",")
}

// rowsOf returns the rows of a table.
func rowsOf(m *operation.StatusTargets) []view.TableRow {
	rows := make([]view.TableRow, 0, m.All.Len())
	for _, ref := range m.All.Refs() {
		rows = append(rows, view.TableRow{Ref: ref})
	}
	return rows
}
