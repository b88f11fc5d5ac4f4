package kpt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
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
	output            choice
	adoption          choice
	statusPolicy      choice
	propagation       choice
}

func newApply(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := applyFlags{output: outputs(), adoption: adoptions(), statusPolicy: statusPolicies(), propagation: propagations("prune propagation policy")}
	cmd := &cobra.Command{
		Use:   "apply [FOLDER | -]",
		Short: "Apply a package: create, update, wait until ready, prune",
		Long: `Apply the package in a folder (default: the working folder) or on the standard input (-). Objects are
created or updated in the order of their kinds and dependencies and waited for until they are ready;
objects that the package deployed earlier and no longer has are pruned.

` + cli.ExitCodes,
		Example: `  muster apply wordpress --dry-run
  muster apply wordpress --reconcile-timeout=2m`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.installGiven = cmd.Flags().Changed("install-resource-group")
			f.given = planningGiven(cmd)
			return runApply(cmd.Context(), env, kube, folder(args), f)
		},
	}
	flags := cmd.Flags()
	f.addPlanning(cmd)
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; with --server-side, validated by the server")
	flags.BoolVar(&f.install, "install-resource-group", true, "install the ResourceGroup definition if it is missing; false in a dry run")
	flags.DurationVar(&f.reconcileTimeout, "reconcile-timeout", 0, "how long an applied object may take to become ready; 0 is without limit")
	flags.DurationVar(&f.pruneTimeout, "prune-timeout", 0, "how long a pruned object may take to be gone; 0 is without limit")
	flags.BoolVar(&f.failFast, "fail-fast", false, "end the run as soon as an object fails or its pods will hardly start without a change")
	flags.StringVar(&f.plan, "plan", "", "do what this file says that plan --out has written, or nothing")
	addLogLines(cmd, &f.logLines)
	addRules(cmd, &f.rules)
	f.output.addTo(cmd, "output", "form of the output")
	f.statusPolicy.addTo(cmd, "status-policy", "whether the record tells how each object is left")
	return cmd
}

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
func (f applyFlags) check() error {
	if f.forceConflicts && !f.serverSide {
		return errors.New("--force-conflicts goes with --server-side alone")
	}
	return errors.Join(checkTimeout("reconcile-timeout", f.reconcileTimeout), checkTimeout("prune-timeout", f.pruneTimeout))
}

func runApply(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, f applyFlags) error {
	saved, err := f.planFile()
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	p, err := f.prepare(ctx, env, kube, dir)
	if err != nil {
		return err
	}
	if saved != nil {
		if err := saved.hold(ctx, f, p); err != nil {
			return err
		}
	}
	options := engine.Options{
		DryRun:        f.dryRunMode(),
		ApplyTimeout:  f.reconcileTimeout,
		DeleteTimeout: f.pruneTimeout,
		FailFast:      f.failFast,
		LogLines:      f.logLines,
	}
	return carryOut(ctx, env, p.engine, p.plan, options, wording{removed: "pruned", serverly: f.serverSide})
}

func refsOf(desired []plan.Desired) []object.Ref {
	refs := make([]object.Ref, len(desired))
	for i, d := range desired {
		refs[i] = object.RefOf(d.Object)
	}
	return refs
}

// policy is what the flags want for the objects of an inventory.
func (f applyFlags) policy(inv *inventory) (plan.Policy, error) {
	p, err := policy(inv, f.adoption.adoption())
	p.ServerSide, p.Force, p.Manager = f.serverSide, f.forceConflicts, f.fieldManager
	if f.fieldManager == defaultManager {
		p.Keeper = lastAppliedManager
	}
	p.Propagation, p.PruneAfterFailure = f.propagation.propagation(), f.pruneAfterFailure
	return p, err
}

func scopingOf(kube *cli.Kube) (scoping, error) {
	namespace, explicit, err := kube.Namespace()
	return scoping{namespace: namespace, enforced: explicit}, err
}

// carryOut runs a plan and shows it.
func carryOut(ctx context.Context, env *cli.Env, eng *engine.Engine, p *plan.Plan, o engine.Options, w wording) error {
	if o.DryRun != engine.DryRunNone {
		fmt.Fprintf(env.Out, "Dry-run strategy: %s\n", o.DryRun)
	}
	w.waits = o.DryRun == engine.DryRunNone
	printer := view.Lines(env.Out, p, w.words())
	summary, err := eng.Apply(ctx, p, o, event.Sink(printer.Event))
	if closed := printer.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return cli.Result(summary)
}
