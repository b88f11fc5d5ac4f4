package look

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// treeFlags are the flags of tree.
type treeFlags struct {
	setflags.Flags
	watch  bool
	all    bool
	rules  []string     // files
	parsed []ready.Rule // in these, and of the set
	output cli.Choice
}

// NewTree returns the command that shows the objects of a set as a tree.
func NewTree(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := &treeFlags{output: cli.Choice{
		Value: "tree", Meaning: "output", Allowed: []string{"tree", cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use:   "tree [FOLDER | - | set/NAME] | -a NAME | --record NAME",
		Short: "Show the objects of a package or an app with all that they own, down to containers",
		Long: `Show the objects that a set deployed and, below each, the objects that controllers created for
it, down to pods and their containers, with their states, ages and why they are not ready. The set
is the package in a folder (default: the working folder) or on the standard input (-), an app (-a),
a package without its folder (--record), or what a Set of the controller keeps (set/NAME).

In a tree of more than 50 lines, healthy branches are folded and many healthy objects of a kind are
counted; --all opens them. For custom resources, the kinds are searched that controllers usually
create, and those of the same API group. Secrets are not searched.

With --watch, the tree is drawn again after each change, on a terminal. Elsewhere a line is printed
for each object that changes; with -o json the line is JSON.

Exit codes:
  0    the tree was shown
  1    the objects could not be read: the error says why
  130  interrupted, as --watch always ends`,
		Example: "  " + env.Name() + " tree wordpress\n" +
			"  " + env.Name() + " tree -a web -n shop --watch\n" +
			"  " + env.Name() + " tree --record wordpress --all -o json",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecord(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.watch, "watch", "w", false, "Show changes until interrupted")
	flags.BoolVar(&f.all, "all", false, "Show every object and container, in large trees too")
	cli.AddRules(cmd, &f.rules)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *treeFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, args []string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	if f.watch && f.output.Value == cli.OutputYAML {
		return errors.New("--watch prints lines, and YAML has none: omit it, or use -o json")
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	f.parsed, err = f.ReadyRules(ctx, env, kube, args, f.rules)
	if err != nil {
		return err
	}
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return f.Unrecorded(err)
	}
	targets, err := set.Targets(ctx, client)
	if err != nil {
		return f.Unrecorded(err)
	}
	setflags.WarnOfHidden(env, targets)
	return f.show(ctx, env, set, client, targets)
}

// show prints the tree of a set.
func (f *treeFlags) show(
	ctx context.Context, env *cli.Env, set sets.Set, client cluster.Writer,
	targets *operation.StatusTargets,
) error {
	refs := targets.All.Refs()
	judge, err := policy.NewRuleSet(ctx, client, f.parsed, refs)
	if err != nil {
		return err
	}
	namespace, _ := set.Name()
	p := &treePrinter{
		env: env, flags: f, title: set.Title() + " in namespace " + namespace, terminal: env.Terminal(),
	}
	o := livetree.Options{
		Roots: refs, Judge: judge.Of,
		Unseen: func(err error) { env.Notice("Warning: " + err.Error()) },
	}
	if !f.watch {
		roots, err := livetree.Read(ctx, client, o)
		if err != nil {
			return err
		}
		return p.print(roots)
	}
	return p.watch(ctx, client, o)
}

// treePrinter prints a tree, and its changes.
type treePrinter struct {
	env      *cli.Env
	flags    *treeFlags
	title    string
	terminal view.Terminal
	shown    []*livetree.Node // the tree that was printed last
	begun    bool
}

// options returns how the tree is printed.
func (p *treePrinter) options() view.TreeOptions {
	return view.TreeOptions{Title: p.title, All: p.flags.all, Now: p.env.Now()}
}

// print prints a whole tree.
func (p *treePrinter) print(roots []*livetree.Node) error {
	status := p.flags.Managed
	if p.flags.output.Value != "tree" {
		document := map[string]any{"items": branchesOf(roots)}
		if status != nil {
			document["managedSet"] = NewSetStatus(status)
		}
		return cli.Encode(p.env.Out, p.flags.output.Value, document)
	}
	if err := PrintSet(p.env, p.env.Out, status); err != nil {
		return err
	}
	_, err := io.WriteString(p.env.Out, view.LiveTree(roots, p.terminal, p.options()))
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// watch prints a tree and its changes until the context ends.
func (p *treePrinter) watch(ctx context.Context, c cluster.Reader, o livetree.Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	handle := p.printChanges
	if p.terminal.Live && p.flags.output.Value == "tree" {
		o.Every = time.Second // ages grow
		if err := PrintSet(p.env, p.env.Out, p.flags.Managed); err != nil {
			return err
		}
		screen := view.NewTreeScreen(p.env.Out, p.terminal)
		handle = func(roots []*livetree.Node) error { return screen.Draw(roots, p.options()) }
	}
	failed := error(nil)
	err := livetree.Watch(ctx, c, o, func(roots []*livetree.Node) {
		if failed == nil {
			if failed = handle(roots); failed != nil {
				stop(failed)
			}
		}
	})
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return &cli.ResultError{Interrupted: true}
	}
	return err
}

// printChanges prints the whole tree at first, and later a line for each object that has changed.
func (p *treePrinter) printChanges(roots []*livetree.Node) error {
	before := p.shown
	p.shown = roots
	document := p.flags.output.Value != "tree"
	if !p.begun && !document {
		p.begun = true
		return p.print(roots)
	}
	for _, change := range view.TreeChanges(before, roots) {
		line := change.String()
		if document {
			text, err := json.Marshal(struct {
				*treeBranch
				Gone bool `json:"gone,omitempty"`
			}{newTreeBranch(change.Node), change.Gone})
			if err != nil {
				return err
			}
			line = string(text)
		}
		if !document {
			line = plaintext.Message(line)
		}
		if _, err := fmt.Fprintln(p.env.Out, line); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}

// treeBranch is the JSON of an object of a tree.
type treeBranch struct {
	Group      string               `json:"group"`
	Kind       string               `json:"kind"`
	Namespace  string               `json:"namespace,omitempty"`
	Name       string               `json:"name"`
	Status     ready.State          `json:"status"`
	Reason     string               `json:"reason,omitempty"`
	Message    string               `json:"message,omitempty"`
	Created    time.Time            `json:"created,omitzero"`
	Former     bool                 `json:"former,omitempty"`
	Containers []livetree.Container `json:"containers,omitempty"`
	Children   []*treeBranch        `json:"children,omitempty"`
}

// newTreeBranch returns the JSON of an object without its children.
func newTreeBranch(n *livetree.Node) *treeBranch {
	return &treeBranch{
		Group: n.Ref.Group, Kind: n.Ref.Kind, Namespace: n.Ref.Namespace, Name: n.Ref.Name,
		Status: n.Status.State, Reason: n.Status.Reason, Message: n.Status.Message,
		Created: n.Created, Former: n.Former, Containers: n.Containers,
	}
}

// branchesOf returns the JSON of objects with their children.
func branchesOf(nodes []*livetree.Node) []*treeBranch {
	found := make([]*treeBranch, len(nodes))
	for i, n := range nodes {
		found[i] = newTreeBranch(n)
		if len(n.Children) > 0 {
			found[i].Children = branchesOf(n.Children)
		}
	}
	return found
}
