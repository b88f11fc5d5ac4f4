package cmd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/commands"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
)

// applyFlags are the flags of apply and, but for those that only a run has, of plan.
type applyFlags struct {
	commands.ApplyFlags
	dryRun     bool
	unchanged  bool // unchanged objects are listed
	held       heldFlags
	noPrune    bool
	allowEmpty bool
	conflicts  cli.Choice
	filter     filter.Flags // of the objects that are written or deleted
	stall      stallLimit
	recreate   []string // kinds of objects with immutable fields
	plan       string   // file of a saved plan
	maxPrune   plan.PruneLimit
	cluster    cli.ClusterGuard
	changed    []string // of the flags that shape a plan, those that were typed
	output     cli.Choice
}

// newApplyFlags returns the flags with defaults.
func newApplyFlags(output cli.Choice) applyFlags {
	return applyFlags{output: output, conflicts: conflictChoice(), ApplyFlags: commands.ApplyFlags{
		PlanFlags: commands.NewPlanFlags("graph", false), Lock: cli.NewLockFlags(),
		StatusPolicy: commands.StatusPolicies(),
	}}
}

func newApply(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := newApplyFlags(outputs())
	cmd := &cobra.Command{
		Use:   "apply [FOLDER | -]",
		Short: "Apply a package: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input
(-). Objects are created or updated in the order of their kinds and dependencies and waited for
until they are ready; objects that the package deployed earlier and no longer has are pruned.

` + cli.ExitCodes,
		Example: "  " + env.Name() + " apply wordpress --dry-run\n" +
			"  " + env.Name() + " apply wordpress --reconcile-timeout=2m",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.InstallGiven = cmd.Flags().Changed("install-resource-group")
			f.changed = changedPlanFlags(cmd)
			return f.run(cmd.Context(), env, kube, cli.Folder(args))
		},
	}
	f.Add(cmd)
	f.addPlanned(cmd)
	f.stall.add(cmd, "reconcile-timeout")
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false,
		"Only print what would be done; with --server-side, the server validates it")
	flags.BoolVar(&f.unchanged, "show-unchanged", false,
		"List objects that are unchanged and ready; otherwise they are only counted")
	flags.StringVar(&f.plan, "plan", "",
		"Apply exactly the plan saved by 'plan --out'; fail if anything has changed since")
	f.output.AddTo(cmd, "output", "Output format")
	return cmd
}

// dryRunMode returns the mode for --dry-run and --server-side.
func (f *applyFlags) dryRunMode() engine.DryRun {
	switch {
	case !f.dryRun:
		return engine.DryRunNone
	case f.ServerSide:
		return engine.DryRunServer
	default:
		return engine.DryRunClient
	}
}

// check returns an error for invalid flags.
func (f *applyFlags) check() error {
	if f.ForceConflicts && !f.ServerSide {
		return errors.New("--force-conflicts requires --server-side")
	}
	if err := f.checkConflicts(); err != nil {
		return err
	}
	if f.FieldManager == "" {
		return errors.New("--field-manager must not be empty; omit it for the default")
	}
	return errors.Join(f.Check(&f.output), f.stall.check())
}

func (f *applyFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string) error {
	saved, err := f.planFile(ctx)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	r := newRun(env, "apply", f.output.Value, wording{
		removed: "pruned", serverSide: f.ServerSide, unchanged: f.unchanged,
	})
	r.lock, r.saved, r.options = f.Lock, saved, f.RunOptions(f.dryRunMode(), true)
	r.options.Limits.Stall = f.stall.value(f.ReconcileTimeout)
	r.show.Statuses, r.show.Waves = f.Statuses, f.Waves()
	r.check, r.held = f.checkPruned, &f.held
	client, op, err := f.prepare(ctx, env, kube, dir)
	if err != nil {
		return err
	}
	return r.do(ctx, client, op)
}

// prepare opens the set and connects.
func (f *applyFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string,
) (sets.Cluster, sets.Operation, error) {
	set, err := sets.Open(ctx, request(env, dir, f.RuleFiles))
	if err != nil {
		return nil, nil, err
	}
	client, err := connect(ctx, env, kube, f.cluster, set)
	if err != nil {
		return nil, nil, err
	}
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return nil, nil, err
	}
	scope := packages.Scope{Namespace: namespace, Enforced: explicit}
	options := f.ApplyOptions(f.dryRun, env.Notice)
	options.PlanOptions = f.options(env.Now())
	op, err := set.PrepareApply(ctx, client, scope, options)
	if err != nil {
		return nil, nil, err
	}
	kube.SetSources(op.Sources())
	return client, op, nil
}

// options returns the options that shape the plan. Filters compare ages with now.
func (f *applyFlags) options(now time.Time) packages.PlanOptions {
	o := f.Options()
	o.LeaveReplicas, o.Recreation, o.Recreate = true, true, f.recreate
	o.NoPrune, o.AllowEmpty, o.AppAnnotations = f.noPrune, f.allowEmpty, true
	o.Filter, o.Now = f.filter, now
	o.Conflicts = cmp.Or(plan.Conflicts(f.conflicts.Value), plan.NoteConflicts)
	o.Hold, o.AllowDelete = true, f.held.allowed()
	return o
}
