package cmd

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/commands"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	setFlags
	status commands.StatusFlags
	output cli.Choice
}

func newInspect(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := inspectFlags{status: commands.NewStatusFlags(), output: cli.Choice{
		Value: outputTable, Meaning: "output",
		Allowed: []string{outputTable, cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use:     "inspect [FOLDER | -] | -a NAME | --record NAME",
		Aliases: []string{"tree"},
		Short:   "Show the objects of a package or an app, and what controllers created for them",
		Long: `Show the objects that a set deployed with their statuses, and below each the objects that
controllers created for it, such as pods. The set is the package in a folder (default: the working
folder) or on the standard input (-), an app (-a), or a package without its folder (--record).

Exit codes:
  0  the objects were shown
  1  they could not be read: the error says why`,
		Example: "  " + env.Name() + " inspect wordpress\n" +
			"  " + env.Name() + " tree -a web -n shop -o json",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.addRecord(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *inspectFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	rules, err := f.readyRules(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	document, printed := f.output.Value != outputTable, false
	_, err = f.status.Run(ctx, env, commands.StatusForm{
		Rules: rules, JSON: document, Children: packages.AllChildRows,
		Targets: func(ctx context.Context) (*packages.StatusTargets, packages.Cluster, error) {
			return f.targets(ctx, env, kube, args)
		},
		Printer: func(
			out io.Writer, m *packages.StatusTargets, children view.ChildRows,
		) view.Printer {
			if printed = true; document {
				return &treeDocument{out: out, format: f.output.Value, refs: m.All.Refs(),
					children: children}
			}
			return view.Table(out, env.Terminal(), treeRows(m.All.Refs()), view.TableOptions{
				Columns: treeColumns(env.Now), Children: children,
			})
		},
	})
	if err == nil && document && !printed { // the set has no objects
		return (&treeDocument{out: env.Out, format: f.output.Value}).Close(nil)
	}
	return err
}

// treeRows returns a row for each object.
func treeRows(refs []object.Ref) []view.TableRow {
	rows := make([]view.TableRow, len(refs))
	for i, ref := range refs {
		rows[i] = view.TableRow{Ref: ref}
	}
	return rows
}

// treeColumns returns the columns of the table of inspect; now is the clock.
func treeColumns(now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Cell: view.NamespaceCell},
		{Title: "RESOURCE", Cell: view.ResourceCell},
		{Title: "STATUS", Cell: view.StateCell},
		{Title: "AGE", Cell: view.AgeCell(now)},
		{Title: "MESSAGE", Cell: view.MessageCell},
	}
}

// treeDocument prints objects and their children as one document when all are known.
type treeDocument struct {
	out      io.Writer
	format   string
	refs     []object.Ref
	children view.ChildRows
	seen     map[object.Ref]view.TableRow
}

// treeNode is the JSON of an object.
type treeNode struct {
	Group     string      `json:"group"`
	Kind      string      `json:"kind"`
	Namespace string      `json:"namespace,omitempty"`
	Name      string      `json:"name"`
	Status    ready.State `json:"status"`
	Message   string      `json:"message,omitempty"`
	Created   time.Time   `json:"created,omitzero"`
	Children  []*treeNode `json:"children,omitempty"`
}

// Event keeps the status of an object.
func (d *treeDocument) Event(e event.Event) {
	if e.Status.State == "" || e.Err != nil {
		return
	}
	if d.seen == nil {
		d.seen = map[object.Ref]view.TableRow{}
	}
	d.seen[e.Ref] = view.TableRow{Ref: e.Ref, Status: e.Status, Facts: e.Facts}
}

// Close prints the document.
func (d *treeDocument) Close(failed error) error {
	if failed != nil {
		return nil
	}
	slices.SortFunc(d.refs, object.Compare)
	var created map[object.Ref][]view.TableRow
	if len(d.refs) > 0 {
		created = d.children(d.refs)
	}
	var document struct {
		Items []*treeNode `json:"items"`
	}
	document.Items = []*treeNode{}
	for _, ref := range d.refs {
		row, ok := d.seen[ref]
		if !ok {
			row = view.TableRow{Ref: ref, Status: ready.Status{State: ready.Unknown}}
		}
		nodes := map[object.Ref]*treeNode{ref: newTreeNode(row)}
		document.Items = append(document.Items, nodes[ref])
		for _, child := range created[ref] { // parents come before their children
			nodes[child.Ref] = newTreeNode(child)
			if parent := nodes[child.Parent]; parent != nil {
				parent.Children = append(parent.Children, nodes[child.Ref])
			}
		}
	}
	return cli.Encode(d.out, d.format, document)
}

// newTreeNode returns the JSON of a row without its children.
func newTreeNode(row view.TableRow) *treeNode {
	n := &treeNode{
		Group: row.Ref.Group, Kind: row.Ref.Kind, Namespace: row.Ref.Namespace, Name: row.Ref.Name,
		Status: row.Status.State, Message: row.Status.Message,
	}
	if row.Facts != nil {
		n.Created = row.Facts.Created
	}
	return n
}
