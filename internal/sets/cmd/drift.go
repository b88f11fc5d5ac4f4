package cmd

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/sets/inspect"
)

// driftFlags are the flags of drift.
type driftFlags struct {
	inspect.DriftFlags
}

func newDrift(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := driftFlags{DriftFlags: inspect.NewDriftFlags()}
	cmd := &cobra.Command{
		Use:   "drift [FOLDER] | -a NAME | --record NAME",
		Short: "Show what others changed in the objects of a package or an app",
		Long: `Compare the objects of a set in the cluster with its last good revision, and show each field that
others changed, with the program that owns it. The set is the package in a folder (default: the
working folder), an app (-a), or a package without its folder (--record). What controllers set, such
as the replicas of an autoscaler, is left alone and counted; --include controllers shows it. A set
that another program deployed has no revision: compare it with its files (--against .).

Exit codes:
  0  nothing drifted
  1  the set could not be compared: the error says why
  2  something drifted`,
		Example: "  " + env.Name() + " drift wordpress\n" +
			"  " + env.Name() + " drift -a web -n shop -o markdown\n" +
			"  " + env.Name() + " drift wordpress --audit audit.log",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, env, kube, args)
		},
	}
	f.Add(cmd)
	return cmd
}

func (f *driftFlags) run(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	r, err := f.Run(cmd.Context(), env, kube, args)
	if err != nil {
		return err
	}
	return r.Exit()
}
