package packageflags

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	dryRun bool
	mode   cli.DryRunFlag // of the native command
	force  bool
	name   string
	file   string
	root   string
	lock   cli.LockFlags

	cluster cli.ClusterGuard
}

// NewMigrate returns the command migrate. Of the form its Object does not count.
func NewMigrate(
	env *cli.Env, kube *cli.Kube, form InitForm, lock cli.LockFlags,
) *cobra.Command {
	f := migrateFlags{lock: lock}
	cmd := &cobra.Command{
		Use:   "migrate [FOLDER]",
		Short: "Move an inventory of an older format to a ResourceGroup",
		Long: `Move the inventory of the package in a folder (default: the working folder) to a
ResourceGroup: from a ConfigMap, which older tools stored in the cluster and described in
inventory-template.yaml, or from the inventory section of the Kptfile. Deployed objects do not
change, and an inventory lists them at every moment. If it is interrupted, the same command
continues.

Exit codes:
  0  the inventory is in a ResourceGroup, or there was none to move
  1  not everything could be moved: the error says why
  3  the command lost its lock: the error says to whom`,
		Example: "  " + form.Command + " migrate wordpress --dry-run\n" +
			"  " + form.Command + " migrate wordpress",
		Args:              form.Arguments,
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.dryRun = f.dryRun || f.mode.Is()
			fmt.Fprintln(env.Out, "inventory migration...")
			if err := runMigrate(cmd.Context(), env, kube, cli.Folder(args), f); err != nil {
				fmt.Fprint(env.Out, "failed\ninventory migration...failed\n")
				return err
			}
			fmt.Fprintln(env.Out, "inventory migration...success")
			return nil
		},
	}
	flags := cmd.Flags()
	if form.Guard {
		f.mode.AddAlone(cmd, "Only print the steps")
	} else {
		flags.BoolVar(&f.dryRun, "dry-run", false, "Only print the steps")
	}
	flags.BoolVar(&f.force, "force", false, "Replace another inventory in the ResourceGroup file")
	flags.StringVar(&f.name, "name", "",
		"Name of the ResourceGroup (default: that of the Kptfile, or a generated one)")
	addFile(flags, &f.file)
	AddRoot(flags, &f.root)
	f.lock.Add(flags)
	if form.Guard {
		f.cluster.Add(flags)
	}
	return cmd
}

func runMigrate(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, f migrateFlags,
) (err error) {
	if dir == packages.Stdin {
		return errors.New(
			"invalid directory argument: -; migrate changes files, so that it needs the folder of a package",
		)
	}
	if err := checkFile(f.file); err != nil {
		return err
	}
	m, err := packages.PrepareMigration(ctx, dir, packages.MigrateOptions{
		InitOptions: packages.InitOptions{
			Name:  f.name,
			File:  f.file,
			Force: f.force,
			Root:  packages.Root{Dir: f.root},
			Now:   env.Now,
		}, DryRun: f.dryRun, Out: env.Out,
	})
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	namespace, err := kube.NamespaceFlag()
	if err != nil {
		return err
	}
	old := m.Inventory()
	expected := cli.ExpectedCluster{}
	expected.Value, expected.Where = old.ExpectedCluster()
	if err := f.cluster.Check(ctx, env, kube, client, expected); err != nil {
		return err
	}
	if old != nil && !f.dryRun {
		held, run, refused := f.lock.Acquire(ctx, env, client, packages.LockSet(old), "migrate")
		if refused != nil {
			return refused
		}
		defer func(ctx context.Context) { err = cli.Release(ctx, held, err) }(ctx)
		ctx = run
	}
	return m.Run(ctx, client, namespace)
}
