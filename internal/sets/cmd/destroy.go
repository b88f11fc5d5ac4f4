package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/packages/commands"
	"github.com/muster-deploy/muster/internal/sets"
)

// destroyFlags are the flags of destroy.
type destroyFlags struct {
	commands.DestroyFlags
	dryRun  bool
	cluster cli.ClusterGuard
	held    heldFlags
	stall   stallLimit
	output  cli.Choice
}

func newDestroy(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := destroyFlags{DestroyFlags: commands.NewDestroyFlags("graph"), output: outputs()}
	f.Lock = cli.NewLockFlags()
	cmd := &cobra.Command{
		Use:   "destroy [FOLDER | -]",
		Short: "Delete everything that a package deployed",
		Long: `Delete every object that the package in a folder (default: the working folder) or on
the standard input (-) deployed, in the reverse order of applying, wait until all are gone, and
then delete the record.

` + cli.ExitCodes,
		Example:           "  " + env.Name() + " destroy wordpress",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, cli.Folder(args))
		},
	}
	f.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "Only print what would be deleted")
	f.cluster.Add(flags)
	f.held.add(cmd, true)
	f.stall.add(cmd, "delete-timeout")
	f.output.AddTo(cmd, "output", "Output format")
	return cmd
}

func (f *destroyFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string) error {
	if err := errors.Join(f.Check(&f.output), f.stall.check()); err != nil {
		return err
	}
	mode := engine.DryRunNone
	if f.dryRun {
		mode = engine.DryRunClient
	}
	r := newRun(env, "destroy", f.output.Value, wording{removed: "deleted", onlyDeletes: true})
	r.lock, r.options, r.held = f.Lock, f.RunOptions(mode, true), &f.held
	set, err := sets.OpenRecord(ctx, request(env, dir, nil))
	if err != nil {
		return err
	}
	client, err := connect(ctx, env, kube, f.cluster, set)
	if err != nil {
		return err
	}
	o := f.Options(env.Notice)
	o.Hold, o.AllowDelete, o.AppAnnotations = true, f.held.allowed(), true
	r.options.Limits.Stall = f.stall.value(f.DeleteTimeout)
	r.show.Statuses, r.show.Waves = f.Statuses, o.Waves()
	r.check = func(op sets.Operation) error {
		if !op.Recorded() {
			fmt.Fprintf(
				env.Err, "there is no record %s in the cluster: nothing to delete\n", set.Record(),
			)
		}
		return nil
	}
	op, err := set.PrepareDestroy(ctx, client, o)
	if err != nil {
		return r.show.Fail(err)
	}
	if err := r.do(ctx, client, op); err != nil || !op.LeavesUnknown() {
		return err
	}
	return &cli.ResultError{}
}
