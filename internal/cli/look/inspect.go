package look

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/show/view"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	setflags.Flags
	status packageflags.StatusFlags
	filter filter.Flags
	output cli.Choice
}

// NewInspect returns the command that lists the objects of a set.
func NewInspect(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := inspectFlags{status: packageflags.NewStatusFlags(), output: cli.Choice{
		Value: outputTable, Meaning: "output",
		Allowed: []string{outputTable, cli.OutputJSON, cli.OutputYAML, outputName},
	}}
	cmd := &cobra.Command{
		Use:   "inspect [FOLDER | - | set/NAME] | -a NAME | --record NAME",
		Short: "Show the objects of a package or an app, and what controllers created for them",
		Long: `Show the objects that a set deployed with their statuses, and below each the objects that
controllers created for it, such as pods. The set is the package in a folder (default: the working
folder) or on the standard input (-), an app (-a), a package without its folder (--record), or what
a Set of the controller keeps (set/NAME). With -o name, print only the names of the set's own
objects, as kubectl does.

Exit codes:
  0  the objects were shown
  1  they could not be read: the error says why`,
		Example: "  " + env.Name() + " inspect wordpress\n" +
			"  " + env.Name() + " inspect -a web -n shop -o json\n" +
			"  " + env.Name() + " inspect wordpress --filter-kind Deployment -o name",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecord(cmd)
	f.filter.Add(cmd.Flags())
	setflags.AddSelector(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *inspectFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	return f.Unrecorded(f.show(ctx, env, kube, args))
}

// show prints the objects of a set.
func (f *inspectFlags) show(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if f.output.Value == outputName {
		return f.printNames(ctx, env, kube, args)
	}
	rules, err := f.ReadyRules(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	document, printed := f.output.Value != outputTable, false
	_, err = f.status.Run(ctx, env, packageflags.StatusForm{
		Rules: rules, JSON: document, Children: operation.AllChildRows,
		Targets: func(ctx context.Context) (*operation.StatusTargets, cluster.Writer, error) {
			m, client, err := f.targets(ctx, env, kube, args)
			if err == nil && !document {
				err = PrintSet(env, env.Out, f.Managed)
			}
			return m, client, err
		},
		Printer: func(
			out io.Writer, m *operation.StatusTargets, children view.ChildRows,
		) view.Printer {
			if printed = true; document {
				return &treeDocument{out: out, format: f.output.Value, refs: m.All.Refs(),
					children: children, status: NewSetStatus(f.Managed)}
			}
			return view.Table(out, env.Terminal(), treeRows(m.All.Refs()), view.TableOptions{
				Columns: treeColumns(env.Now), Children: children,
			})
		},
	})
	if err == nil && document && !printed { // the set has no objects
		return (&treeDocument{
			out: env.Out, format: f.output.Value, status: NewSetStatus(f.Managed),
		}).Close(nil)
	}
	return err
}

// targets connects and returns the objects of the set that the filters match.
func (f *inspectFlags) targets(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*operation.StatusTargets, cluster.Writer, error) {
	matching, err := f.filter.ResourceFilter(env.Now())
	if err != nil {
		return nil, nil, err
	}
	m, client, err := f.Flags.Targets(ctx, env, kube, args)
	if err != nil || matching == nil {
		return m, client, err
	}
	wanted := make([]cluster.Target, m.All.Len())
	for i, ref := range m.All.Refs() {
		wanted[i].Ref = ref
	}
	live, err := client.Read(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	m.All = object.NewSet(slices.DeleteFunc(m.All.Refs(), func(ref object.Ref) bool {
		obj := live.Objects[ref]
		if obj == nil {
			obj = &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetKind(ref.Kind)
			obj.SetNamespace(ref.Namespace)
			obj.SetName(ref.Name)
		}
		return !matching.Matches(obj)
	})...)
	if m.All.Len() == 0 && len(wanted) > 0 {
		env.Notice("note: no object of the set matches the filters")
	}
	return m, client, nil
}

// printNames prints the names of the objects of the set.
func (f *inspectFlags) printNames(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	m, _, err := f.targets(ctx, env, kube, args)
	if err != nil {
		return err
	}
	for _, ref := range slices.SortedFunc(slices.Values(m.All.Refs()), object.Compare) {
		if err := env.Print(plaintext.Line(ref.Short())); err != nil {
			return err
		}
	}
	return nil
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
	status   *SetStatus // of the Set whose objects they are; nil for none
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
		Managed *SetStatus  `json:"managedSet,omitempty"`
		Items   []*treeNode `json:"items"`
	}
	document.Managed, document.Items = d.status, []*treeNode{}
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
