package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/packages"
)

// destroyFlags are the flags of destroy.
type destroyFlags struct {
	dryRun        bool
	lock          cli.LockFlags
	cluster       cli.ClusterGuard
	held          heldFlags
	statuses      bool
	deleteTimeout time.Duration
	stall         stallLimit
	output        choice
	adoption      choice
	statusPolicy  choice
	propagation   choice
	ordering      choice
}

func newDestroy(env *cli.Env, kube *cli.Kube, v variant) *cobra.Command {
	f := destroyFlags{
		lock:   v.lockFlags(),
		output: outputs(), adoption: adoptions(), statusPolicy: statusPolicies(),
		propagation: propagations("delete propagation policy"), ordering: orderings(v.ordering),
	}
	cmd := &cobra.Command{
		Use:   "destroy [FOLDER | -]",
		Short: "Delete everything that a package deployed",
		Long: `Delete every object that the package in a folder (default: the working folder) or on
the standard input (-) deployed, in the reverse order of applying, wait until all are gone, and
then delete the record.

` + cli.ExitCodes,
		Example:           "  " + v.command + " destroy wordpress",
		Args:              v.arguments,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDestroy(cmd.Context(), env, kube, v, folder(args), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "Only print what would be deleted")
	flags.DurationVar(&f.deleteTimeout, "delete-timeout", 0,
		"Time to wait for an object to be deleted; 0 means no limit")
	f.stall.add(cmd, v, "delete-timeout")
	f.lock.Add(flags)
	if v.strict {
		f.cluster.Add(flags)
	}
	f.held.add(cmd, v, true)
	flags.BoolVar(&f.statuses, "show-status-events", false,
		"Print every status change of an object")
	f.output.addTo(cmd, v, "output", "Output format")
	f.ordering.addTo(cmd, v, "ordering",
		"When to delete objects: as soon as their dependents are gone, or in waves")
	f.adoption.addTo(cmd, v, "inventory-policy", "Which objects may be deleted")
	f.statusPolicy.addTo(cmd, v, "status-policy",
		"Whether to store the status of each object in the inventory")
	f.propagation.addTo(cmd, v, "delete-propagation-policy", "Deletion propagation policy")
	return cmd
}

func runDestroy(
	ctx context.Context, env *cli.Env, kube *cli.Kube, v variant, dir string, f destroyFlags,
) error {
	err := checkChoices(&f.propagation, &f.adoption, &f.statusPolicy, &f.output, &f.ordering)
	if err != nil {
		return err
	}
	err = errors.Join(checkTimeout("delete-timeout", f.deleteTimeout), f.stall.check())
	if err != nil {
		return err
	}
	inv, err := packages.OpenInventory(ctx, input(env, dir))
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	if err := checkCluster(ctx, env, kube, f.cluster, client, inv); err != nil {
		return err
	}
	o := packages.DestroyOptions{
		NoStatuses: f.statusPolicy.value == "none",
		Notice:     noticePrinter(env),
		PlanOptions: packages.PlanOptions{
			InventoryPolicy: f.adoption.value, Ordering: f.ordering.value,
			Propagation: metav1.DeletionPropagation(f.propagation.value), AppAnnotations: v.strict,
			Hold: f.held.hold, AllowDelete: f.held.allowed(),
			OnlyInventories: v.onlyInventories,
		},
	}
	op, err := packages.PrepareDestroy(client, inv, o)
	if err != nil {
		return err
	}
	show := outputOptions{
		variant:  v,
		env:      env,
		output:   f.output.value,
		statuses: f.statuses,
		adoption: o.Adoption(),
		waves:    o.Waves(),
		wording:  wording{removed: "deleted", onlyDeletes: true},
	}
	if err := packages.CheckDefinition(ctx, client, inv); err != nil {
		return show.fail(err)
	}
	if !f.dryRun {
		held, run, err := f.lock.Acquire(ctx, env, client, packages.LockSet(inv), "destroy")
		if err != nil {
			return show.fail(err)
		}
		defer held.Release(ctx)
		ctx, show.lock = run, held
	}
	if err := op.MakePlan(ctx); err != nil {
		return show.fail(err)
	}
	if !f.dryRun {
		if err := f.held.confirm(ctx, env, op); err != nil {
			return err
		}
	}
	if v.detailed && !op.Recorded() {
		fmt.Fprintf(env.Err, "there is no record %s in the cluster: nothing to delete\n", inv.Ref)
	}
	options := engine.Options{
		Limits: engine.Limits{
			Delete: f.deleteTimeout, PerWave: o.Waves(), Stall: f.stall.value(f.deleteTimeout),
		},
		Retry:    engine.Retry{For: webhookTimeout},
		NoCauses: !v.detailed,
	}
	if f.dryRun {
		options.DryRun = engine.DryRunClient
	}
	printForgotten(env, v, op)
	if err := runOperation(ctx, op, options, show); err != nil || !op.LeavesUnknown() {
		return cmp.Or(err, heldResult(op))
	}
	return &cli.ResultError{}
}

// printForgotten prints the objects that leave the record because their kind does not exist.
func printForgotten(env *cli.Env, v variant, op *packages.Operation) {
	if v.detailed {
		for _, line := range op.Forgotten() {
			fmt.Fprintln(env.Err, line)
		}
	}
}
