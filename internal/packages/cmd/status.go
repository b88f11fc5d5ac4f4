package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// statusFlags are the flags of status.
type statusFlags struct {
	output     choice
	until      choice
	timeout    time.Duration
	names      []string
	namespaces []string
	statuses   []string
	rules      []string
	logLines   int
	invType    string
	invNames   []string
	cluster    cli.ClusterGuard
}

func newStatus(env *cli.Env, kube *cli.Kube, v variant) *cobra.Command {
	f := statusFlags{
		output: outputs(),
		until: choice{
			value:   "known",
			meaning: "poll-until",
			allowed: []string{"known", "current", "deleted", "forever"},
		},
	}
	cmd := &cobra.Command{
		Use:   "status [FOLDER | -]",
		Short: "Show the status of the objects of a package",
		Long: `Show the status of the objects that the package in a folder (default: the working
folder) or on the standard input (-) deployed: once, or as it changes until all are ready or
deleted. With --inv-type remote, show the objects of all inventories in the cluster, or in the
namespace of --namespace.

` + v.statusHelp(),
		Example: "  " + v.command + " status wordpress\n" +
			"  " + v.command + " status wordpress --poll-until current --timeout 2m --output table",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStatus(cmd.Context(), env, kube, v, folder(args), f)
		},
	}
	f.output.addTo(cmd, v, "output", "Output format")
	f.until.addTo(cmd, v, "poll-until", "State to wait for")
	addRules(cmd, &f.rules)
	addLogLines(cmd, &f.logLines)
	flags := cmd.Flags()
	if v.strict {
		f.cluster.Add(flags)
	}
	flags.DurationVar(&f.timeout, "timeout", 0, "Time to wait; 0 means no limit")
	flags.Duration("poll-period", 2*time.Second,
		"Ignored: objects are watched; accepted for compatibility with kpt")
	flags.StringVar(&f.invType, "inv-type", "local",
		"local for the objects of the package, remote for those of all inventories in the cluster")
	flags.StringSliceVar(&f.invNames, "inv-names", nil,
		"With --inv-type remote, only inventories with these names")
	flags.StringSliceVar(&f.names, "names", nil, "Only objects with these names")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "Only objects in these namespaces")
	flags.StringSliceVar(&f.statuses, "statuses", nil,
		"Only these statuses, such as InProgress,Failed")
	return cmd
}

// states are the values of --statuses, in any case.
var states = []string{
	string(ready.Current), string(ready.InProgress), string(ready.Failed),
	string(ready.Terminating), string(ready.NotFound), string(ready.Unknown),
}

// check returns an error for invalid flags.
func (f statusFlags) check() error {
	if err := checkChoices(&f.until, &f.output); err != nil {
		return err
	}
	switch {
	case f.invType != "local" && f.invType != "remote":
		return errors.New("inv-type flag should be either local or remote")
	case f.invType == "local" && len(f.invNames) > 0:
		return errors.New("inv-names flag should only be used when inv-type is set to remote")
	}
	for _, status := range f.statuses {
		if !slices.ContainsFunc(
			states, func(state string) bool { return strings.EqualFold(state, status) },
		) {
			return fmt.Errorf("--statuses %q: must be one of %s", status, strings.Join(states, ", "))
		}
	}
	return errors.Join(checkTimeout("timeout", f.timeout), checkLogLines(f.logLines))
}

func runStatus(
	ctx context.Context, env *cli.Env, kube *cli.Kube, v variant, dir string, f statusFlags,
) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.invType == "remote" {
		dir = ""
	}
	rules, err := packages.ReadRules(ctx, dir, f.rules)
	if err != nil {
		return err
	}
	reading, stop := ctx, context.CancelFunc(func() {})
	if f.timeout > 0 {
		reading, stop = context.WithTimeout(ctx, f.timeout)
	}
	m, client, err := f.targets(reading, env, kube, dir)
	stop()
	if reading.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the cluster has not answered within --timeout %s", f.timeout)
	}
	if err != nil {
		return err
	}
	refs := f.filter(m.All.Refs())
	if len(refs) == 0 {
		return f.printEmpty(env, v.strict && m.All.Len() > 0)
	}
	set, err := packages.NewRuleSet(ctx, client, rules, refs)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	printer := f.printer(env, cancelWriter{env.Out, cancel}, v, m, childRows(ctx, client, set))
	options := engine.ObserveOptions{
		Until:    engine.Until(f.until.value),
		Timeout:  f.timeout,
		NoCauses: !v.detailed,
		LogLines: f.logLines,
	}
	sink := printUnreachable(env.Err, printer.Event)
	met, err := packages.Observe(ctx, client, set, refs, options, sink)
	if closed := printer.Close(err); err == nil || closed != nil && errors.Is(err, context.Canceled) {
		err = closed
	}
	awaits := options.Until == engine.UntilCurrent || options.Until == engine.UntilDeleted
	if err == nil && awaits && !met && v.failsUnlessMet {
		return &cli.ResultError{}
	}
	return err
}

// targets connects and returns the objects to show.
func (f statusFlags) targets(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string,
) (*packages.StatusTargets, packages.Cluster, error) {
	if f.invType == "remote" {
		namespace, err := namespaceFlag(kube)
		if err != nil {
			return nil, nil, err
		}
		client, err := kube.Client()
		if err != nil {
			return nil, nil, err
		}
		err = checkCluster(ctx, env, kube, f.cluster, client, &inventory.Inventory{})
		if err != nil {
			return nil, nil, err
		}
		m, err := packages.RemoteMembers(ctx, client, namespace, f.invNames, noticePrinter(env))
		return m, client, err
	}
	inv, err := packages.OpenInventory(ctx, input(env, dir))
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	if err := checkCluster(ctx, env, kube, f.cluster, client, inv); err != nil {
		return nil, nil, err
	}
	m, err := packages.LocalMembers(ctx, client, inv, noticePrinter(env))
	return m, client, err
}

// cancelWriter is a writer that cancels a context when a write fails: nobody reads the output any
// more.
type cancelWriter struct {
	io.Writer
	cancel context.CancelFunc
}

// Write writes text.
func (r cancelWriter) Write(text []byte) (int, error) {
	n, err := r.Writer.Write(text)
	if err != nil {
		r.cancel()
	}
	return n, err
}

// printUnreachable prints, once for all objects, that the cluster cannot be reached, and passes
// other events to next.
func printUnreachable(side io.Writer, next event.Sink) event.Sink {
	printed := ""
	return func(e event.Event) {
		text := unreachableLine(e)
		if e.Err == nil {
			next(e)
		} else if text != printed {
			fmt.Fprintln(side, text)
		}
		printed = text
	}
}

// printEmpty reports that nothing was deployed, or that the filters match no object. The latter is
// an error unless --poll-until is deleted. JSON output stays empty.
func (f statusFlags) printEmpty(env *cli.Env, filtered bool) error {
	text := "no resources found in the inventory"
	if filtered {
		text = "no object of the inventory matches --names and --namespaces"
	}
	switch {
	case filtered && f.until.value != "deleted":
		return errors.New(text)
	case f.output.value == "json":
		return nil
	}
	_, err := fmt.Fprintln(env.Out, text)
	return err
}

// filter returns the objects that the filters match.
func (f statusFlags) filter(refs []object.Ref) []object.Ref {
	return slices.DeleteFunc(refs, func(ref object.Ref) bool {
		return len(f.names) > 0 && !slices.Contains(f.names, ref.Name) ||
			len(f.namespaces) > 0 && !slices.Contains(f.namespaces, ref.Namespace)
	})
}

// matches reports whether --statuses matches the status of an event.
func (f statusFlags) matches(e event.Event) bool {
	return len(f.statuses) == 0 || slices.ContainsFunc(f.statuses, func(status string) bool {
		return strings.EqualFold(status, string(e.Status.State))
	})
}

func (f statusFlags) printer(
	env *cli.Env, out io.Writer, v variant, m *packages.StatusTargets, children childRowsFunc,
) view.Printer {
	switch {
	case f.output.value == "table" && v.statusTable != nil:
		return view.Table(out, env.Terminal(), rowsOf(m), view.TableOptions{
			Columns: v.statusTable(m, env.Now), Children: children,
			Show: func(m view.TableRow) bool { return f.matches(event.Event{Status: m.Status}) },
		})
	case f.output.value == "json":
		return view.StatusJSON(out, view.StatusOptions{
			Inventories: m.Inventories, Show: f.matches, Now: env.Now,
			ShowRecordNamespace: m.Remote && v.detailed,
		})
	case f.output.value == "table":
		return view.StatusTable(out, env.Terminal(), view.StatusOptions{
			Inventories: m.Inventories, Show: f.matches, Causes: view.Causes, ShowRecordNamespace: m.Remote,
		})
	default:
		return view.StatusLines(out, f.matches, func(e event.Event) string { return v.statusLine(m, e) })
	}
}
