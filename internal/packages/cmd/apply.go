package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/plan"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	serverSide        bool
	forceConflicts    bool
	fieldManager      string
	dryRun            bool
	install           bool
	installGiven      bool
	pruneAfterFailure bool
	noPrune           bool
	appAnnotations    bool         // honour the annotations of kapp too
	filter            filter.Flags // of the objects that are written or deleted
	now               time.Time    // for the filter
	allowEmpty        bool
	leaveReplicas     bool // of workloads to their autoscalers
	recreation        bool // of objects with immutable fields, if wanted
	onlyInventories   bool // are recognized as owners
	recreate          []string
	failFast          bool
	logLines          int
	rules             []string
	plan              string // file of a saved plan
	maxPrune          plan.PruneLimit
	cluster           cli.ClusterGuard
	held              heldFlags
	changed           []string // of the flags that shape a plan, those that were typed
	lock              cli.LockFlags
	reconcileTimeout  time.Duration
	pruneTimeout      time.Duration
	stall             stallLimit
	statuses          bool
	output            choice
	adoption          choice
	statusPolicy      choice
	propagation       choice
	ordering          choice
}

func newApply(env *cli.Env, kube *cli.Kube, v variant) *cobra.Command {
	f := applyFlags{
		lock:   v.lockFlags(),
		output: outputs(), adoption: adoptions(), statusPolicy: statusPolicies(),
		propagation: propagations("prune propagation policy"), ordering: orderings(v.ordering),
	}
	cmd := &cobra.Command{
		Use:   "apply [FOLDER | -]",
		Short: "Apply a package: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input
(-). Objects are created or updated in the order of their kinds and dependencies and waited for
until they are ready; objects that the package deployed earlier and no longer has are pruned.

` + cli.ExitCodes,
		Example: "  " + v.command + " apply wordpress --dry-run\n" +
			"  " + v.command + " apply wordpress --reconcile-timeout=2m",
		Args:              v.arguments,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.installGiven = cmd.Flags().Changed("install-resource-group")
			f.changed = changedPlanFlags(cmd)
			return runApply(cmd.Context(), env, kube, v, folder(args), f)
		},
	}
	flags := cmd.Flags()
	f.addPlanFlags(cmd, v)
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"Only print what would be done; with --server-side, the server validates it")
	flags.BoolVar(&f.install, "install-resource-group", true,
		"Install the ResourceGroup CRD if it is missing; in a dry run only if set")
	flags.DurationVar(&f.reconcileTimeout, "reconcile-timeout", 0,
		"Time to wait for an applied object to become ready; 0 means no limit")
	flags.DurationVar(&f.pruneTimeout, "prune-timeout", 0,
		"Time to wait for a pruned object to be deleted; 0 means no limit")
	f.stall.add(cmd, v, "reconcile-timeout")
	flags.BoolVar(&f.failFast, "fail-fast", false,
		"Stop at the first object that fails or cannot start (bad image, crash loop, unschedulable)")
	if v.savesPlans {
		flags.StringVar(&f.plan, "plan", "",
			"Apply exactly the plan saved by 'plan --out'; fail if anything has changed since")
	}
	f.lock.Add(flags)
	addLogLines(cmd, &f.logLines)
	addRules(cmd, &f.rules)
	flags.BoolVar(&f.statuses, "show-status-events", false,
		"Print every status change of an object")
	f.output.addTo(cmd, v, "output", "Output format")
	f.statusPolicy.addTo(cmd, v, "status-policy",
		"Whether to store the status of each object in the inventory")
	return cmd
}

// waves reports whether objects are written in waves.
func (f applyFlags) waves() bool { return f.ordering.value == "waves" }

// dryRunMode returns the mode for --dry-run and --server-side.
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

// check returns an error for invalid flags.
func (f applyFlags) check(v variant) error {
	if v.strict && f.forceConflicts && !f.serverSide {
		return errors.New("--force-conflicts requires --server-side")
	}
	if v.strict && f.fieldManager == "" {
		return errors.New("--field-manager must not be empty; omit it for the default")
	}
	err := checkChoices(&f.propagation, &f.adoption, &f.statusPolicy, &f.output, &f.ordering)
	if err != nil {
		return err
	}
	return errors.Join(
		checkTimeout("reconcile-timeout", f.reconcileTimeout),
		checkTimeout("prune-timeout", f.pruneTimeout), f.stall.check(), checkLogLines(f.logLines),
	)
}

func runApply(
	ctx context.Context, env *cli.Env, kube *cli.Kube, v variant, dir string, f applyFlags,
) error {
	saved, err := f.planFile(ctx)
	if err != nil {
		return err
	}
	if err := f.check(v); err != nil {
		return err
	}
	show := outputOptions{
		variant:  v,
		env:      env,
		output:   f.output.value,
		statuses: f.statuses,
		adoption: f.options().Adoption(),
		waves:    f.waves(),
		wording:  wording{removed: "pruned", serverSide: f.serverSide},
	}
	_, op, err := f.prepare(ctx, env, kube, dir)
	if err != nil {
		return err
	}
	if !f.dryRun {
		held, run, err := f.lock.Acquire(ctx, env, op.Cluster, packages.LockSet(op.Inventory), "apply")
		if err != nil {
			return show.fail(err)
		}
		defer held.Release(ctx)
		ctx, show.lock = run, held
	}
	if err := makePlan(ctx, op, show.fail); err != nil {
		return err
	}
	show.childRows = childRows(ctx, op.Cluster, op.Rules)
	if saved != nil {
		err = saved.Check(ctx, op)
	} else if !f.dryRun {
		err = f.held.confirm(ctx, env, op)
	}
	if err != nil {
		return err
	}
	if err := f.checkPruned(op); err != nil {
		return show.fail(err)
	}
	printForgotten(env, v, op)
	return cmp.Or(runOperation(ctx, op, f.runOptions(v), show), heldResult(op))
}

// runOptions returns how the flags want the plan to be run.
func (f applyFlags) runOptions(v variant) engine.Options {
	return engine.Options{
		DryRun: f.dryRunMode(),
		Limits: engine.Limits{
			Apply: f.reconcileTimeout, Delete: f.pruneTimeout, PerWave: f.waves(),
			Stall: f.stall.value(f.reconcileTimeout),
		},
		StopOn:   engine.StopOn{WriteError: f.failFast, WaitError: f.failFast, Stuck: f.failFast},
		Retry:    engine.Retry{For: webhookTimeout},
		NoCauses: !v.detailed && !f.failFast,
		LogLines: f.logLines,
	}
}

// webhookTimeout limits how long a write is retried whose webhook cannot be called: the package may
// contain its server.
const webhookTimeout = 30 * time.Second

// makePlan makes the plan of an operation. Fail may report an error elsewhere too.
func makePlan(ctx context.Context, op *packages.Operation, fail func(error) error) error {
	if err := op.MakePlan(ctx); err != nil {
		return fail(err)
	}
	return op.CheckRecordNamespace(ctx)
}

// prepare opens the package and connects.
func (f applyFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string,
) (*packages.Package, *packages.Operation, error) {
	p, err := packages.Open(ctx, input(env, dir))
	if err != nil {
		return nil, nil, err
	}
	if f.appAnnotations {
		if err := p.CheckAppAnnotations(); err != nil {
			return nil, nil, err
		}
	}
	f.now = env.Now()
	rules, err := packages.ReadRules(ctx, dir, f.rules)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	if err := checkCluster(ctx, env, kube, f.cluster, client, p.Inventory); err != nil {
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
		PlanOptions: f.options(), Rules: rules, Definition: f.definition(),
		NoStatuses: f.statusPolicy.value == "none", Notice: noticePrinter(env),
	})
	return p, op, err
}

// unchanged returns err.
func unchanged(err error) error { return err }

// definition returns the policy for the definition of records. A dry run installs it only if the
// flag was set.
func (f applyFlags) definition() packages.DefinitionPolicy {
	switch {
	case f.dryRun && (!f.install || !f.installGiven):
		return packages.SkipDefinition
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
		LeaveReplicas: f.leaveReplicas, Recreation: f.recreation, Recreate: f.recreate,
		Hold: f.held.hold, AllowDelete: f.held.allowed(),
		NoPrune: f.noPrune, AllowEmpty: f.allowEmpty,
		AppAnnotations: f.appAnnotations, Filter: f.filter, Now: f.now,
		OnlyInventories: f.onlyInventories,
	}
}

// setOptions sets the flags that shape the plan.
func (f *applyFlags) setOptions(o packages.PlanOptions) {
	f.serverSide, f.forceConflicts, f.fieldManager = o.ServerSide, o.ForceConflicts, o.FieldManager
	f.adoption.value, f.propagation.value, f.pruneAfterFailure = o.InventoryPolicy, string(
		o.Propagation,
	), o.PruneAfterFailure
	f.ordering.value, f.recreate, f.held.allow = o.Ordering, o.Recreate, o.AllowDelete
	f.noPrune, f.allowEmpty, f.filter = o.NoPrune, o.AllowEmpty, o.Filter
}

// input returns the package that an argument names.
func input(env *cli.Env, arg string) packages.Input {
	return packages.Input{Folder: arg, Stream: env.In, Notice: noticePrinter(env)}
}

// noticePrinter returns a function that prints lines to the standard error.
func noticePrinter(env *cli.Env) func(string) {
	return func(text string) { fmt.Fprintln(env.Err, plaintext.Printable(text)) }
}

// runOperation runs a plan and prints it. The run continues if the output cannot be written; a
// closed pipe is not an error.
func runOperation(
	ctx context.Context, op *packages.Operation, o engine.Options, s outputOptions,
) error {
	if o.DryRun != engine.DryRunNone && s.output != "json" {
		fmt.Fprintf(s.env.Out, "Dry-run strategy: %s\n", o.DryRun)
	}
	printer := s.printer(op.Plan, o.DryRun == engine.DryRunNone)
	summary, err := op.Run(ctx, o, s.lock.Count(len(op.Plan.Refs()), printer.Event))
	closed := printer.Close(err)
	switch {
	case err != nil:
		return err
	case closed != nil && !cli.IsBrokenPipe(closed):
		return fmt.Errorf("%w; the run completed without it, and the record is complete", closed)
	}
	return cli.RunError(summary)
}
