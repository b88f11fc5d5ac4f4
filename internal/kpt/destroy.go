package kpt

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
)

// destroyFlags is what was typed after destroy.
type destroyFlags struct {
	dryRun        bool
	deleteTimeout time.Duration
	output        choice
	adoption      choice
	statusPolicy  choice
	propagation   choice
}

func newDestroy(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := destroyFlags{output: outputs(), adoption: adoptions(), statusPolicy: statusPolicies(), propagation: propagations("delete propagation policy")}
	cmd := &cobra.Command{
		Use:   "destroy [FOLDER | -]",
		Short: "Delete everything that a package deployed",
		Long: `Delete every object that the package in a folder (default: the working folder) or on
the standard input (-) deployed, in the reverse order of applying, wait until all are gone, and then
delete the record.

` + cli.ExitCodes,
		Example:           `  muster destroy wordpress`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDestroy(cmd.Context(), env, kube, folder(args), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be deleted")
	flags.DurationVar(&f.deleteTimeout, "delete-timeout", 0, "how long an object may take to be gone; 0 is without limit")
	f.output.addTo(cmd, "output", "form of the output")
	f.adoption.addTo(cmd, "inventory-policy", "which objects may be deleted")
	f.statusPolicy.addTo(cmd, "status-policy", "whether the record tells how each object is left")
	f.propagation.addTo(cmd, "delete-propagation-policy", "how dependents of the objects are deleted")
	return cmd
}

func runDestroy(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, f destroyFlags) error {
	if err := checkTimeout("delete-timeout", f.deleteTimeout); err != nil {
		return err
	}
	inv, err := openInventory(env, dir)
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	rules, err := policy(inv, f.adoption.adoption())
	if err != nil {
		return err
	}
	rules.Destroy, rules.Propagation = true, f.propagation.propagation()

	inv.advise(env.Err)
	store := newStore(client, inv, f.statusPolicy.value)
	eng := newEngine(client, store, nil) // what is deleted is not judged
	p, err := eng.Plan(ctx, engine.Request{Policy: rules})
	if err != nil {
		return err
	}
	options := engine.Options{DeleteTimeout: f.deleteTimeout}
	if f.dryRun {
		options.DryRun = engine.DryRunClient
	}
	return carryOut(ctx, env, eng, p, options, wording{removed: "deleted", noApply: true})
}
