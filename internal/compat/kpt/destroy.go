package kpt

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// destroyFlags are the flags of destroy.
type destroyFlags struct {
	packageflags.DestroyFlags
	dryRun bool
	output cli.Choice
}

func newDestroy(env *cli.Env, kube *cli.Kube, words string) *cobra.Command {
	f := destroyFlags{DestroyFlags: packageflags.NewDestroyFlags("waves"), output: outputs()}
	f.Adoption, f.Lock = adoptions(), lockFlags()
	f.Propagation = propagations(f.Propagation)
	cmd := &cobra.Command{
		Use:   "destroy [FOLDER | -]",
		Short: "Delete everything that a package deployed",
		Long: `Delete every object that the package in a folder (default: the working folder) or on
the standard input (-) deployed, in the reverse order of applying, wait until all are gone, and
then delete the record.

` + cli.ExitCodes,
		Example:           "  " + env.Name() + " " + words + " destroy wordpress",
		Args:              cobra.ArbitraryArgs, // all but the first are ignored
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDestroy(cmd.Context(), env, kube, cli.Folder(args), f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "Only print what would be deleted")
	f.output.AddTo(cmd, "output", "Output format")
	return cmd
}

func runDestroy(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, f destroyFlags,
) (err error) {
	if err := f.Check(&f.output); err != nil {
		return err
	}
	inv, err := packages.OpenInventory(ctx, packageflags.Input(env, dir, ""))
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	o := f.Options(env.Notice)
	o.OnlyInventories = true
	op, err := packages.PrepareDestroy(client, inv, o)
	if err != nil {
		return err
	}
	show := runOptions(env, o.Adoption(), liveTable, f.output.Value)
	show.Statuses, show.Waves = f.Statuses, o.Waves()
	if err := packages.CheckDefinition(ctx, client, inv); err != nil {
		return show.Fail(err)
	}
	mode := engine.DryRunClient
	if !f.dryRun {
		held, run, refused := f.Lock.Acquire(ctx, env, client, packages.LockSet(inv), "destroy")
		if refused != nil {
			return show.Fail(refused)
		}
		defer func(ctx context.Context) { err = cli.Release(ctx, held, err) }(ctx)
		ctx, show.Lock, mode = run, held, engine.DryRunNone
	}
	if err := makePlan(ctx, env, op, inv); err != nil {
		return show.Fail(err)
	}
	err = cli.RunPlan(ctx, op.Plan(), op.Run, f.RunOptions(mode, false), show.RunOptions,
		show.Lock)
	if err == nil && op.Plan().LeavesUnknown() {
		return &cli.ResultError{}
	}
	return err
}
