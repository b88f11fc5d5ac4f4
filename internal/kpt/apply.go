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
			return runApply(cmd.Context(), env, kube, folder(args), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.serverSide, "server-side", false, "have the server merge (server-side apply)")
	flags.BoolVar(&f.forceConflicts, "force-conflicts", false, "with --server-side, take over fields of other managers")
	flags.StringVar(&f.fieldManager, "field-manager", "kubectl", "name under which fields are owned")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; with --server-side, validated by the server")
	flags.BoolVar(&f.install, "install-resource-group", true, "install the ResourceGroup definition if it is missing; false in a dry run")
	flags.BoolVar(&f.pruneAfterFailure, "prune-after-failure", false, "prune although an object failed or was not ready in time")
	flags.DurationVar(&f.reconcileTimeout, "reconcile-timeout", 0, "how long an applied object may take to become ready; 0 is without limit")
	flags.DurationVar(&f.pruneTimeout, "prune-timeout", 0, "how long a pruned object may take to be gone; 0 is without limit")
	flags.BoolVar(&f.failFast, "fail-fast", false, "end the run as soon as an object fails or its pods will hardly start without a change")
	addLogLines(cmd, &f.logLines)
	addRules(cmd, &f.rules)
	f.output.addTo(cmd, "output", "form of the output")
	f.adoption.addTo(cmd, "inventory-policy", "which objects may be taken over")
	f.statusPolicy.addTo(cmd, "status-policy", "whether the record tells how each object is left")
	f.propagation.addTo(cmd, "prune-propagation-policy", "how dependents of pruned objects are deleted")
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
	if err := f.check(); err != nil {
		return err
	}
	p, err := open(env, dir)
	if err != nil {
		return err
	}
	rules, err := readyRules(dir, f.rules)
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	s, err := scopingOf(kube)
	if err != nil {
		return err
	}
	desired, err := p.desired(ctx, client, s)
	if err != nil {
		return err
	}
	if err := f.ensureDefinition(ctx, env.Err, client, p.inventory); err != nil {
		return err
	}
	policy, err := f.policy(p.inventory)
	if err != nil {
		return err
	}
	p.inventory.advise(env.Err)
	store := newStore(client, p.inventory, f.statusPolicy.value)
	set, err := judging(ctx, client, rules, refsOf(desired))
	if err != nil {
		return err
	}
	eng := newEngine(client, store, set)
	pl, err := eng.Plan(ctx, engine.Request{Desired: desired, Policy: policy})
	if err != nil {
		return err
	}
	if err := p.checkHome(ctx, client, store, policy.Home); err != nil {
		return err
	}
	options := engine.Options{
		DryRun:        f.dryRunMode(),
		ApplyTimeout:  f.reconcileTimeout,
		DeleteTimeout: f.pruneTimeout,
		FailFast:      f.failFast,
		LogLines:      f.logLines,
	}
	return carryOut(ctx, env, eng, pl, options, wording{removed: "pruned", serverly: f.serverSide})
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
