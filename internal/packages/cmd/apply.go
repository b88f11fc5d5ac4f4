package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
)

// applyFlags is what was typed after apply.
type applyFlags struct {
	serverSide        bool
	forceConflicts    bool
	fieldManager      string
	dryRun            bool
	install           bool
	installGiven      bool
	pruneAfterFailure bool
	failFast          bool
	logLines          int
	rules             []string
	plan              string   // file of a saved plan
	given             []string // of the flags that shape a plan, those that were typed
	reconcileTimeout  time.Duration
	pruneTimeout      time.Duration
	statuses          bool
	output            choice
	adoption          choice
	statusPolicy      choice
	propagation       choice
	ordering          choice
}

func newApply(env *cli.Env, kube *cli.Kube, g grammar) *cobra.Command {
	f := applyFlags{
		output: outputs(), adoption: adoptions(), statusPolicy: statusPolicies(), propagation: propagations("prune propagation policy"),
		ordering: orderings(g.ordering),
	}
	cmd := &cobra.Command{
		Use:   "apply [FOLDER | -]",
		Short: "Apply a package: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input (-). Objects are
created or updated in the order of their kinds and dependencies and waited for until they are ready;
objects that the package deployed earlier and no longer has are pruned.

` + cli.ExitCodes,
		Example: "  " + g.command + " apply wordpress --dry-run\n" +
			"  " + g.command + " apply wordpress --reconcile-timeout=2m",
		Args:              g.args,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.installGiven = cmd.Flags().Changed("install-resource-group")
			f.given = planningGiven(cmd)
			return runApply(cmd.Context(), env, kube, g, folder(args), f)
		},
	}
	flags := cmd.Flags()
	f.addPlanning(cmd, g)
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; with --server-side, validated by the server")
	flags.BoolVar(&f.install, "install-resource-group", true, "install the ResourceGroup definition if it is missing; false in a dry run")
	flags.DurationVar(&f.reconcileTimeout, "reconcile-timeout", 0, "how long an applied object may take to become ready; 0 is without limit")
	flags.DurationVar(&f.pruneTimeout, "prune-timeout", 0, "how long a pruned object may take to be gone; 0 is without limit")
	flags.BoolVar(&f.failFast, "fail-fast", false, "end the run as soon as an object fails or its pods will hardly start without a change")
	if g.saves {
		flags.StringVar(&f.plan, "plan", "", "do what this file says that plan --out has written, or nothing")
	}
	addLogLines(cmd, &f.logLines)
	addRules(cmd, &f.rules)
	flags.BoolVar(&f.statuses, "show-status-events", false, "tell every new status of an object")
	f.output.addTo(cmd, g, "output", "form of the output")
	f.statusPolicy.addTo(cmd, g, "status-policy", "whether the record tells how each object is left")
	return cmd
}

// waves reports whether objects are written in waves.
func (f applyFlags) waves() bool { return f.ordering.value == "waves" }

// dryRunMode is what --dry-run means together with --server-side.
func (f applyFlags) dryRunMode() engine.DryRun {
	switch {
	case !f.dryRun:
		return engine.DryRunNone
	case f.serverSide:
		return engine.DryRunServer
	default:
		return engine.DryRunClient
	}
}

// check refuses what does not go together.
func (f applyFlags) check(g grammar) error {
	if g.strict && f.forceConflicts && !f.serverSide {
		return errors.New("--force-conflicts goes with --server-side alone")
	}
	if g.strict && f.fieldManager == "" {
		return errors.New("--field-manager must not be empty; leave it out for the default")
	}
	if err := checkChoices(&f.propagation, &f.adoption, &f.statusPolicy, &f.output, &f.ordering); err != nil {
		return err
	}
	return errors.Join(checkTimeout("reconcile-timeout", f.reconcileTimeout), checkTimeout("prune-timeout", f.pruneTimeout),
		checkLogLines(f.logLines))
}

func runApply(ctx context.Context, env *cli.Env, kube *cli.Kube, g grammar, dir string, f applyFlags) error {
	saved, err := f.planFile()
	if err != nil {
		return err
	}
	if err := f.check(g); err != nil {
		return err
	}
	show := showing{grammar: g, env: env, output: f.output.value, statuses: f.statuses, adoption: f.options().Adoption(),
		phased: f.waves(), wording: wording{removed: "pruned", serverly: f.serverSide}}
	_, op, err := f.prepare(ctx, env, kube, dir, show.fail)
	if err != nil {
		return err
	}
	show.made = family{op.Cluster, op.Rules}.of(ctx)
	if saved != nil {
		if err := saved.Check(ctx, op); err != nil {
			return err
		}
	}
	options := engine.Options{
		DryRun:   f.dryRunMode(),
		Limits:   engine.Limits{Apply: f.reconcileTimeout, Delete: f.pruneTimeout, PerWave: f.waves()},
		StopOn:   engine.StopOn{WriteError: f.failFast, WaitError: f.failFast, Stuck: f.failFast},
		Retry:    engine.Retry{For: webhookTimeout},
		LogLines: f.logLines,
	}
	return carryOut(ctx, op, options, show)
}

// webhookTimeout limits how long a write is repeated whose webhook cannot be called: its server may be a part of the package.
const webhookTimeout = 30 * time.Second

// prepare opens the package, connects and makes the plan. fail may report an error of planning elsewhere as well.
func (f applyFlags) prepare(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, fail func(error) error) (*packages.Package, *packages.Operation, error) {
	p, err := packages.Open(input(env, dir))
	if err != nil {
		return nil, nil, err
	}
	rules, err := packages.ReadRules(dir, f.rules)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return nil, nil, err
	}
	desired, err := p.Resolve(ctx, client, packages.Scope{Namespace: namespace, Enforced: explicit})
	if err != nil {
		return nil, nil, err
	}
	kube.SetSources(packages.Sources(desired))
	op, err := packages.PrepareApply(ctx, client, p.Inventory, desired, packages.ApplyOptions{
		PlanOptions: f.options(), Rules: rules, Definition: f.definition(), NoStatuses: f.statusPolicy.value == "none", Notice: notices(env),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := op.MakePlan(ctx); err != nil {
		return nil, nil, fail(err)
	}
	return p, op, op.CheckRecordNamespace(ctx)
}

// unchanged passes an error on.
func unchanged(err error) error { return err }

// definition returns the policy for the definition of records. A dry run installs it only if the flag was typed.
func (f applyFlags) definition() packages.DefinitionPolicy {
	switch {
	case f.dryRun && (!f.install || !f.installGiven):
		return packages.IgnoreDefinition
	case f.install:
		return packages.InstallDefinition
	default:
		return packages.RequireDefinition
	}
}

// options returns the options that shape the plan.
func (f applyFlags) options() packages.PlanOptions {
	return packages.PlanOptions{
		ServerSide: f.serverSide, ForceConflicts: f.forceConflicts, FieldManager: f.fieldManager,
		InventoryPolicy: f.adoption.value, Propagation: metav1.DeletionPropagation(f.propagation.value),
		PruneAfterFailure: f.pruneAfterFailure, Ordering: f.ordering.value,
	}
}

// take has the flags be those with which a plan was made.
func (f *applyFlags) take(o packages.PlanOptions) {
	f.serverSide, f.forceConflicts, f.fieldManager = o.ServerSide, o.ForceConflicts, o.FieldManager
	f.adoption.value, f.propagation.value, f.pruneAfterFailure = o.InventoryPolicy, string(o.Propagation), o.PruneAfterFailure
	f.ordering.value = o.Ordering
}

// input returns the package that an argument names.
func input(env *cli.Env, arg string) packages.Input {
	return packages.Input{Folder: arg, Stream: env.In, Notice: notices(env)}
}

// notices returns a function that prints lines to the standard error.
func notices(env *cli.Env) func(string) {
	return func(text string) { fmt.Fprintln(env.Err, text) }
}

// carryOut runs a plan and shows it. It goes on when the output cannot be written; that nobody reads it is no error.
func carryOut(ctx context.Context, op *packages.Operation, o engine.Options, s showing) error {
	if o.DryRun != engine.DryRunNone && s.output != "json" {
		fmt.Fprintf(s.env.Out, "Dry-run strategy: %s\n", o.DryRun)
	}
	printer := s.printer(op.Plan, o.DryRun == engine.DryRunNone)
	summary, err := op.Run(ctx, o, event.Sink(printer.Event))
	closed := printer.Close(err)
	switch {
	case err != nil:
		return err
	case closed != nil && !cli.IsBrokenPipe(closed):
		return fmt.Errorf("%w; the run went on without it, and the record is complete", closed)
	}
	return cli.RunError(summary)
}
