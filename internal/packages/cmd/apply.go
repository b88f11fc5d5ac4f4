package cmd

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
	show := showing{grammar: g, env: env, output: f.output.value, statuses: f.statuses, adoption: f.adoption.adoption(),
		phased: f.waves(), wording: wording{removed: "pruned", serverly: f.serverSide}}
	p, err := f.prepare(ctx, env, kube, dir, show.fail)
	if err != nil {
		return err
	}
	show.made = family{p.client, p.rules}.of(ctx)
	if saved != nil {
		if err := saved.hold(ctx, f, p); err != nil {
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
	return carryOut(ctx, p.engine, p.plan, options, show)
}

// webhookTimeout limits how long a write is repeated whose webhook cannot be called: its server may be a part of the package.
const webhookTimeout = 30 * time.Second

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
	p.Waves = f.waves()
	p.ServerSide, p.Force, p.Manager = f.serverSide, f.forceConflicts, f.fieldManager
	if f.fieldManager == defaultManager {
		p.LastAppliedManager = lastAppliedManager
	}
	p.Propagation, p.PruneAfterFailure = f.propagation.propagation(), f.pruneAfterFailure
	return p, err
}

func scopingOf(kube *cli.Kube) (scoping, error) {
	namespace, explicit, err := kube.Namespace()
	return scoping{namespace: namespace, enforced: explicit}, err
}

// carryOut runs a plan and shows it. It goes on when the output cannot be written; that nobody reads it is no error.
func carryOut(ctx context.Context, eng *engine.Engine, p *plan.Plan, o engine.Options, s showing) error {
	if o.DryRun != engine.DryRunNone && s.output != "json" {
		fmt.Fprintf(s.env.Out, "Dry-run strategy: %s\n", o.DryRun)
	}
	printer := s.printer(p, o.DryRun == engine.DryRunNone)
	summary, err := eng.Apply(ctx, p, o, event.Sink(printer.Event))
	closed := printer.Close(err)
	switch {
	case err != nil:
		return err
	case closed != nil && !cli.IsBrokenPipe(closed):
		return fmt.Errorf("%w; the run went on without it, and the record is complete", closed)
	}
	return cli.RunError(summary)
}
