package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// statusFlags are the flags of status.
type statusFlags struct {
	packageflags.StatusFlags
	setflags.Flags
	output cli.Choice
	stall  stallLimit
	watch  bool
	all    bool // of all namespaces
}

func newStatus(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := statusFlags{StatusFlags: packageflags.NewStatusFlags(), output: outputs()}
	cmd := &cobra.Command{
		Use:   "status [FOLDER | - | set/NAME] | -a NAME | --record NAME",
		Short: "Show the status of the objects of a package or an app",
		Long: `Show the status of the objects that a set deployed: once, or as it changes until all are ready
or deleted. The set is the package in a folder (default: the working folder) or on the standard
input (-), an app (-a), a package without its folder (--record), or what a Set of the controller
keeps (set/NAME). What the Set says about itself comes first: its state, whether a plan waits for
approval, what has drifted, and causes. With --inv-type remote, show the objects of all inventories
in the cluster, or in the namespace of --namespace; with -A of all.

Exit codes:
  0    the state was shown; with --poll-until current or deleted: all objects are
  1    the state could not be read: the error says why
  3    with --poll-until current or deleted: not all objects are, and the time is up, all that is
       left has failed, or does not exist and no run is in progress that could create it;
       with set/NAME: the Set has deployed nothing yet
  130  interrupted`,
		Example: "  " + env.Name() + " status wordpress\n" +
			"  " + env.Name() + " status wordpress --poll-until current --timeout 2m --output table\n" +
			"  " + env.Name() + " status set/shop -n shop",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.watch && cmd.Flags().Changed("poll-until") {
				return errors.New("--watch is --poll-until forever: give one of them")
			}
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	f.Add(cmd)
	f.AddRecord(cmd)
	f.stall.add(cmd, "timeout")
	flags := cmd.Flags()
	flags.BoolVarP(&f.watch, "watch", "w", false,
		"Show the status as it changes, until interrupted; the same as --poll-until forever")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false,
		"Show the objects of all inventories of all namespaces; implies --inv-type remote")
	return cmd
}

func (f *statusFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if f.watch {
		f.Until.Value = string(engine.UntilForever)
	}
	if f.all {
		f.Type = "remote"
	}
	if err := errors.Join(f.Check(&f.output), f.stall.check()); err != nil {
		return err
	}
	if f.Remote() && (f.Named() || len(args) > 0) {
		return errors.New("--inv-type remote and -A show the objects of all inventories, and a set is " +
			"given, too: omit one of them")
	}
	if !f.Remote() {
		var err error
		if args, err = f.UseSet(ctx, env, kube, args); err != nil {
			return f.printElsewhere(env, err)
		}
	}
	if err := f.printSet(env); err != nil {
		return err
	}
	err := f.Unrecorded(f.show(ctx, env, kube, args))
	if !errors.As(err, new(*setflags.UnrecordedError)) {
		return err
	}
	if f.output.Value != view.OutputJSON {
		if err := env.Print(f.Managed.Title() + " has deployed nothing yet"); err != nil {
			return err
		}
	}
	return &cli.ResultError{}
}

// printElsewhere prints a Set whose objects are in another cluster, if that is what an error says.
// It remains an error if something is waited for.
func (f *statusFlags) printElsewhere(env *cli.Env, err error) error {
	if !errors.As(err, new(*managed.ElsewhereError)) || f.Until.Value != string(engine.UntilKnown) {
		return err
	}
	if err := f.printSet(env); err != nil || f.output.Value == view.OutputJSON {
		return err
	}
	return env.Print(err.Error())
}

// printSet prints what the Set says about itself, if the command is about one: as a line of JSON of
// the type set, if that is the output.
func (f *statusFlags) printSet(env *cli.Env) error {
	if f.Managed == nil || f.output.Value != view.OutputJSON {
		return look.PrintSet(env, env.Out, f.Managed)
	}
	return printJSONLine(env, setLine{"set", look.NewSetStatus(f.Managed)})
}

// show prints the statuses of the objects.
func (f *statusFlags) show(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	rules, err := policy.ReadRules(ctx, f.RuleFiles)
	if !f.Remote() {
		rules, err = f.ReadyRules(ctx, env, kube, args, f.RuleFiles)
	}
	if err != nil {
		return err
	}
	var hidden error
	met, err := f.Run(ctx, env, packageflags.StatusForm{
		Rules: rules, JSON: f.output.Value == view.OutputJSON, Strict: true, Causes: true,
		Ends: true, Stall: f.stall.value(f.Timeout),
		Targets: func(ctx context.Context) (*operation.StatusTargets, cluster.Writer, error) {
			m, client, err := f.targets(ctx, env, kube, args)
			if err == nil {
				hidden = m.Hidden
			}
			return m, client, err
		},
		Printer: func(out io.Writer, m *operation.StatusTargets, _ view.ChildRows) view.Printer {
			return f.printer(env, out, m)
		},
	})
	if err == nil && (!met || hidden != nil && f.Until.Value != "known") {
		return &cli.ResultError{}
	}
	return err
}

// targets connects and returns the objects to show.
func (f *statusFlags) targets(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*operation.StatusTargets, cluster.Writer, error) {
	if f.Remote() {
		namespace, err := kube.NamespaceFlag()
		if err != nil {
			return nil, nil, err
		}
		if f.all {
			namespace = ""
		}
		client, err := f.Connect(ctx, env, kube, nil)
		if err != nil {
			return nil, nil, err
		}
		m, err := packages.RemoteMembers(ctx, client, namespace, f.Records, env.Notice)
		return m, client, err
	}
	return f.Flags.Targets(ctx, env, kube, args)
}

func (f *statusFlags) printer(
	env *cli.Env, out io.Writer, m *operation.StatusTargets,
) view.Printer {
	options := view.StatusOptions{
		Inventories: m.Inventories, Show: f.Matches, Now: env.Now, Causes: view.Causes,
		ShowRecordNamespace: m.Remote,
	}
	switch f.output.Value {
	case view.OutputJSON:
		return view.StatusJSON(out, options)
	case view.OutputTable:
		return view.StatusTable(out, env.Terminal(), options)
	default:
		return view.StatusLines(out, f.Matches, func(e event.Event) string { return statusLine(m, e) })
	}
}

// statusLine formats the status of an object, with its causes in the next lines.
func statusLine(m *operation.StatusTargets, e event.Event) string {
	name := e.Ref.Short()
	if m.Remote {
		name = inventoryPaths(m, e.Ref) + ": " + e.Ref.String()
	}
	line := fmt.Sprintf("%s is %s: %s", name, e.Status.State, e.Status.Message)
	lines := append([]string{line}, view.Causes(e)...)
	for i := range lines {
		lines[i] = plaintext.Message(lines[i])
	}
	return strings.Join(lines, "\n")
}

// inventoryPaths returns the namespaces and names of the inventories of an object.
func inventoryPaths(m *operation.StatusTargets, ref object.Ref) string {
	names := make([]string, len(m.Owners[ref]))
	for i, inv := range m.Owners[ref] {
		names[i] = inv.Namespace + "/" + inv.Name
	}
	return strings.Join(names, ", ")
}
