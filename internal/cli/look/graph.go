package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/draw"
)

// graphForms are the forms of a graph, by the values of --output.
var graphForms = map[string]func(draw.Graph) string{
	"tree": draw.Tree, "dot": draw.DOT, "mermaid": draw.Mermaid, "svg": draw.SVG,
}

// graphFlags are the flags of graph.
type graphFlags struct {
	setflags.Flags
	live   bool
	plan   packageflags.PlanFlags
	output cli.Choice
}

// NewGraph returns the command that shows in which order a set is applied.
func NewGraph(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := &graphFlags{plan: packageflags.NewPlanFlags("graph", false), output: cli.Choice{
		Value: "tree", Meaning: "output",
		Allowed: []string{"tree", "dot", "mermaid", "svg", cli.OutputJSON},
	}}
	cmd := &cobra.Command{
		Use:   "graph [FOLDER | -] | -a NAME -f FILE...",
		Short: "Show what waits for what when a package or an app is applied",
		Long: `Show the order in which apply would write the objects of the package in a folder (default: the
working folder) or on the standard input (-), or of an app (-a NAME -f FILE), and why: namespaces
and definitions come before what needs them, dependencies and sources of values before what names
them, and change rules count. An object of a stage is written as soon as all are ready that it waits
for. What other dependencies imply is left out.

The manifests alone say that, so that no server is asked: the order is that of a first apply. With
--live the order is that of the next apply, with the objects that it would prune.

Objects that wait for each other in a cycle are an error, and the graph is theirs.

Exit codes:
  0  the graph was printed
  1  the manifests have errors, or there is a cycle: the error says which`,
		Example: "  " + env.Name() + " graph wordpress\n" +
			"  " + env.Name() + " graph -a web -f web.yaml -o svg > web.svg\n" +
			"  " + env.Name() + " graph wordpress --live -o dot | dot -Tpng > wordpress.png",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddFiles(cmd)
	cmd.Flags().BoolVar(&f.live, "live", false,
		"Ask the cluster: show the order of the next apply, with what it would prune")
	f.plan.Ordering.AddTo(cmd, "ordering",
		"When to write objects: as soon as their dependencies are ready, or in waves")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *graphFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, args []string) error {
	if err := cli.CheckChoices(&f.output, &f.plan.Ordering); err != nil {
		return err
	}
	set, client, err := f.open(ctx, env, kube, args)
	if err != nil {
		return err
	}
	options := operation.ApplyOptions{
		Options: f.plan.Options(), Definition: operation.SkipDefinition,
	}
	options.Now, options.AppAnnotations, options.AllowEmpty = env.Now(), true, true
	options.LeaveReplicas, options.Hold = true, true
	op, err := set.PrepareApply(ctx, client, options)
	if err != nil {
		return err
	}
	err = op.MakePlan(ctx)
	if err == nil {
		return f.print(env.Out, planGraph(set.Title(), op.Plan))
	}
	if g, ok := cycleGraph(set.Title(), err); ok {
		if printed := f.print(env.Out, g); printed != nil {
			return printed
		}
		return &cli.LateError{Err: err}
	}
	return err
}

// open reads the set, and connects if the cluster is to be asked.
func (f *graphFlags) open(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (sets.Set, cluster.Writer, error) {
	if f.live {
		return f.Open(ctx, env, kube, args, nil)
	}
	set, err := f.OpenOffline(ctx, env, kube, args)
	if err != nil {
		return nil, nil, err
	}
	client, assumed := sets.Offline(set)
	var kinds []string
	for _, gk := range assumed {
		kinds = append(kinds, gk.String())
	}
	if len(kinds) > 0 {
		env.Notice(fmt.Sprintf("note: objects of %s are taken to have a namespace; --live asks the "+
			"cluster", strings.Join(kinds, ", ")))
	}
	return set, client, nil
}

// print prints a graph.
func (f *graphFlags) print(out io.Writer, g draw.Graph) error {
	if f.output.Value == cli.OutputJSON {
		return cli.Encode(out, f.output.Value, newGraphDocument(g))
	}
	if _, err := io.WriteString(out, graphForms[f.output.Value](g)); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// planGraph returns what waits for what in a plan. Steps that join others are left out unless
// several wait for several.
func planGraph(title string, p *plan.Plan) draw.Graph {
	g := draw.Graph{Title: title}
	for i := range p.Steps {
		step := &p.Steps[i]
		node := draw.Node{Name: nodeName(step.Ref), Removed: step.Op.Removes()}
		if !step.Op.IsObject() {
			node = draw.Node{Name: "all of these", Join: true}
		}
		g.Nodes = append(g.Nodes, node)
		for _, needs := range [][]int{step.Needs, step.After} {
			for _, j := range needs {
				g.Edges = append(g.Edges, draw.Edge{From: i, To: j, Label: edgeLabel(step, &p.Steps[j])})
			}
		}
	}
	return g
}

// nodeName returns the name of an object in a graph.
func nodeName(ref object.Ref) string {
	return plaintext.Printable(ref.String())
}

// edgeLabel returns why one step waits for another.
func edgeLabel(from, to *plan.Step) string {
	if !from.Op.IsObject() || !to.Op.IsObject() {
		return ""
	}
	if from.Op.Removes() && to.Op.Removes() { // the order of deletion is the other way round
		from, to = to, from
	}
	holder, dependent := to.Want, from.Want
	if holder == nil {
		holder = to.Have
	}
	if dependent == nil {
		dependent = from.Have
	}
	if holder != nil && plan.Holds(holder, from.Ref) {
		return strings.ToLower(strings.TrimPrefix(to.Ref.Kind, "CustomResource"))
	}
	for _, s := range from.Substitutions {
		if s.Source == to.Ref {
			return "value"
		}
	}
	if dependent != nil {
		if refs, _ := policy.DependsOn(dependent); slices.Contains(refs, to.Ref) {
			return "depends-on"
		}
	}
	return "order"
}

// cycleGraph returns the dependencies among objects that are in a cycle or wait for one, and
// whether an error reports them.
func cycleGraph(title string, err error) (g draw.Graph, ok bool) {
	g.Title = title
	numbers := map[string]int{}
	find := func(name string) int {
		if _, known := numbers[name]; !known {
			numbers[name] = len(g.Nodes)
			g.Nodes = append(g.Nodes, draw.Node{Name: plaintext.Printable(name)})
		}
		return numbers[name]
	}
	add := func(from, to string) {
		g.Edges = append(g.Edges, draw.Edge{From: find(from), To: find(to)})
	}
	cycle := (*plan.CycleError)(nil)
	if !errors.As(err, &cycle) {
		return g, false
	}
	for _, edge := range cycle.Blocked {
		add(edge.From.String(), edge.To.String())
	}
	return g, true
}

// graphDocument is the JSON of a graph, with all edges.
type graphDocument struct {
	Title string      `json:"title"`
	Nodes []graphNode `json:"nodes"`
}

// graphNode is the JSON of a node. A join has no name.
type graphNode struct {
	ID      int         `json:"id"`
	Name    string      `json:"name,omitempty"`
	Removed bool        `json:"removed,omitempty"`
	After   []graphEdge `json:"after,omitempty"`
}

// graphEdge is the JSON of an edge: the node that is waited for, and why.
type graphEdge struct {
	ID  int    `json:"id"`
	Why string `json:"why,omitempty"`
}

// newGraphDocument returns the JSON of a graph.
func newGraphDocument(g draw.Graph) graphDocument {
	d := graphDocument{Title: g.Title, Nodes: make([]graphNode, len(g.Nodes))}
	for i, node := range g.Nodes {
		d.Nodes[i] = graphNode{ID: i, Name: node.Name, Removed: node.Removed}
		if node.Join {
			d.Nodes[i].Name = ""
		}
	}
	for _, e := range g.Edges {
		d.Nodes[e.From].After = append(d.Nodes[e.From].After, graphEdge{e.To, e.Label})
	}
	return d
}
