package run

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// applyFlags are the flags of apply and, but for those that only a run has, of plan.
type applyFlags struct {
	packageflags.ApplyFlags
	setflags.Flags
	dryRun     cli.DryRunFlag
	yes        bool
	wait       bool
	timeout    time.Duration
	minReady   time.Duration
	unchanged  bool // unchanged objects are listed
	held       heldFlags
	noPrune    bool
	allowEmpty bool
	conflicts  cli.Choice
	adopt      cli.Choice
	filter     filter.Flags // of the objects that are written or deleted
	stall      stallLimit
	recreate   []string // kinds of objects with immutable fields
	plan       string   // file of a saved plan
	maxPrune   plan.PruneLimit
	changed    []string // of the flags that shape a plan, those that were typed
	output     output.Flag
	validation validateFlag
	history    historyFlags
	onFailure  cli.Choice

	differences setflags.Differences // of the plan
	comparison  policy.Comparison    // of what is planned
}

// newApplyFlags returns the flags with defaults.
func newApplyFlags(kinds []string) applyFlags {
	return applyFlags{
		output: output.NewFlag(kinds), conflicts: conflictChoice(), history: newHistoryFlags(),
		onFailure: onFailureChoice(), minReady: engine.DefaultMinReady,
		ApplyFlags: packageflags.ApplyFlags{
			PlanFlags: packageflags.NewPlanFlags("graph", false), Lock: cli.NewLockFlags(),
			StatusPolicy: packageflags.StatusPolicies(),
		},
	}
}

func newApply(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := newApplyFlags(output.RunKinds)
	cmd := &cobra.Command{
		Use:     "apply [FOLDER | -] | -a NAME -f FILE... | oci://... --record NAME",
		Aliases: []string{"deploy"},
		Short:   "Apply a package or an app: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input
(-), or an app: a name (-a) and its manifests (-f). Objects are created or updated in the order of
their kinds and dependencies and waited for until they are ready; objects that the set deployed
earlier and no longer has are pruned. On a terminal the plan is shown first, and applied after you
have confirmed it.

The folder of either may be in an OCI artifact, oci://REGISTRY/REPOSITORY:TAG or @DIGEST, with
//FOLDER for a folder in it. A package in an artifact needs --record, the name of its record.

--on-failure=rollback restores the last revision in the history that succeeded after a run that has
changed objects and failed. A run that was interrupted is not rolled back.

` + rollbackExitCodes,
		Example: "  " + env.Name() + " apply wordpress --dry-run\n" +
			"  " + env.Name() + " apply wordpress --reconcile-timeout=2m\n" +
			"  " + env.Name() + " apply -a web -f config/ -f https://example.com/more.yaml",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.InstallGiven = cmd.Flags().Changed("install-resource-group")
			f.changed = changedPlanFlags(cmd)
			return f.HintAccess(env, args, f.run(cmd, env, kube, args))
		},
	}
	f.addRun(cmd)
	f.addOnFailure(cmd)
	f.AddFiles(cmd)
	cmd.Flags().StringVar(&f.plan, "plan", "",
		"Apply exactly the plan saved by 'plan --out'; fail if anything has changed since")
	return cmd
}

// addRun adds the flags of a run, but for those that name the set or a plan.
func (f *applyFlags) addRun(cmd *cobra.Command) {
	f.Add(cmd)
	f.addPlanned(cmd)
	f.stall.add(cmd, "reconcile-timeout")
	f.history.add(cmd)
	f.history.addSecrets(cmd)
	flags := cmd.Flags()
	f.dryRun.Add(cmd, "Only print what would be done")
	flags.BoolVarP(&f.yes, "yes", "y", false, "Do not ask on a terminal before the plan is applied")
	flags.BoolVar(&f.wait, "wait", true, "Wait until the objects are ready, and pruned ones gone")
	flags.DurationVar(&f.timeout, "timeout", 0, "Time for the whole run; 0 means no limit")
	flags.DurationVar(&f.minReady, "min-ready", f.minReady,
		"Time for which a workload with new pods must stay ready if a container has no readiness probe; "+
			"0 trusts the first ready status")
	flags.BoolVar(&f.unchanged, "show-unchanged", false,
		"List objects that are unchanged and ready; otherwise they are only counted")
	f.output.Add(cmd)
}

// check returns an error for invalid flags.
func (f *applyFlags) check() error {
	if f.ForceConflicts && !f.ServerSide {
		return errors.New("--force-conflicts requires --server-side")
	}
	return f.checkValues()
}

// checkValues returns an error for flags with invalid values.
func (f *applyFlags) checkValues() error {
	if err := f.checkConflicts(); err != nil {
		return err
	}
	if err := f.adopt.Check(); err != nil {
		return err
	}
	if err := f.validation.mode.Check(); err != nil {
		return err
	}
	if f.FieldManager == "" {
		return errors.New("--field-manager must not be empty; omit it for the default")
	}
	return errors.Join(
		f.Check(), f.stall.check(), f.history.check(), cli.CheckTimeout("timeout", f.timeout),
		cli.CheckTimeout("min-ready", f.minReady))
}

func (f *applyFlags) run(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	ctx := cmd.Context()
	saved, unread := f.planFile(ctx)
	if unread != nil {
		return unread
	}
	if err := errors.Join(f.check(), f.CheckFlags(cmd), f.checkOnFailure(cmd)); err != nil {
		return err
	}
	r, err := f.newRun(env, "apply")
	if err != nil {
		return err
	}
	r.saved, r.access = saved, f.AccessHint(env, args)
	r.show.Header.Folder = f.SourceFolder(args)
	if !f.dryRun.Is() {
		r.recover = f.recovery(env, kube)
	}
	f.history.sources = f.Artifacts.References
	r.recorder = func(t setflags.Target, op *sets.Operation) *sets.Recorder {
		return f.history.recorder(env, kube, t, op, f.SourceFolder(args))
	}
	r.check = func(_ context.Context, op *sets.Operation) error {
		noteUnselected(cmd, env, op)
		if err := f.checkMoved(kube, op); err != nil {
			return err
		}
		return f.checkPruned(op)
	}
	return r.do(ctx, func(ctx context.Context) (setflags.Target, *sets.Operation, error) {
		return f.prepare(ctx, env, kube, args, f.dryRun.Is())
	})
}

// newRun returns a run with the flags. The caller calls do.
func (f *applyFlags) newRun(env *cli.Env, command string) (run, error) {
	readers, err := f.output.Readers(env, hasLive)
	if err != nil {
		return run{}, err
	}
	outputs, err := output.Open(env, readers)
	if err != nil {
		return run{}, err
	}
	return f.newRunTo(env, command, f.dryRun, outputs), nil
}

// newRunTo returns a run with the flags that is printed to outputs.
func (f *applyFlags) newRunTo(
	env *cli.Env, command string, dryRun cli.DryRunFlag, outputs *output.Outputs,
) run {
	r := newRunTo(env, command, outputs, wording{
		removed: "pruned", unchanged: f.unchanged,
	})
	r.differences = f.differences
	r.lock, r.dryRun, r.options = f.Lock, &dryRun, f.RunOptions(dryRun.Mode(false), true)
	r.options.Pods = engine.PodPolicy{Check: true, MinReady: f.minReady}
	r.options.Limits.Stall = f.stall.value(f.ReconcileTimeout)
	r.yes, r.noWait, r.timeout = f.yes, !f.wait, f.timeout
	r.show.Statuses = f.Statuses
	f.validation.command = command
	r.held, r.validation = &f.held, &f.validation
	r.options.FieldValidation = f.validation.ofWrites()
	return r
}

// prepare opens the set and connects.
func (f *applyFlags) prepare(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string, dryRun bool,
) (setflags.Target, *sets.Operation, error) {
	f.validation.kube = kube
	set, client, err := f.Open(ctx, env, kube, args, f.RuleFiles)
	none, below := (*packages.NoInventoryError)(nil), (*packages.SubfolderError)(nil)
	if errors.As(err, &none) && !errors.As(err, &below) && !dryRun {
		if err = f.OfferInventory(ctx, env, kube, args, err); err == nil {
			set, client, err = f.Open(ctx, env, kube, args, f.RuleFiles)
		}
	}
	if err != nil {
		return setflags.Target{}, nil, err
	}
	t, err := setflags.NewTarget(kube, client, set)
	if err != nil {
		return setflags.Target{}, nil, err
	}
	options := f.ApplyOptions(dryRun, env.Notice)
	options.Options = f.options(env.Now())
	if options.Definition == operation.InstallDefinition {
		options.Definition = operation.InstallAtRun // the user sees first where it is installed
	}
	op, err := set.PrepareApply(ctx, client, options)
	if err != nil {
		return setflags.Target{}, nil, err
	}
	kube.SetSources(sourcesOf(op))
	return t, op, nil
}

// sourcesOf returns the file and document that describes each object.
func sourcesOf(op *sets.Operation) map[object.Ref]string {
	sources := map[object.Ref]string{}
	for _, d := range op.Described {
		sources[object.RefOf(d.Object)] = d.Source
	}
	return sources
}

// options returns the options that shape the plan. Filters compare ages with now.
func (f *applyFlags) options(now time.Time) policy.Options {
	o := f.Options()
	o.InventoryPolicy = cmp.Or(policies[f.adopt.Value], o.InventoryPolicy)
	o.LeaveReplicas, o.Recreation, o.Recreate = true, true, f.recreate
	o.NoPrune, o.AllowEmpty, o.AppAnnotations = f.noPrune, f.allowEmpty, true
	o.Filter, o.Now, o.Comparison = f.filter, now, f.comparison
	o.Conflicts = cmp.Or(plan.Conflicts(f.conflicts.Value), plan.NoteConflicts)
	o.Hold, o.AllowDelete = true, f.held.allowed()
	return o
}
