package run

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/setflags"
)

// driftFlags are the flags of drift.
type driftFlags struct {
	look.DriftFlags
	fix         bool
	accept      bool
	deleteAdded bool
	apply       applyFlags // of --fix and --accept
}

func newDrift(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := driftFlags{DriftFlags: look.NewDriftFlags(), apply: newApplyFlags(output.RunKinds)}
	cmd := &cobra.Command{
		Use:   "drift [FOLDER | set/NAME] | -a NAME | --record NAME [--against oci://...]",
		Short: "Show what others changed in the objects of a package or an app; put it back or keep it",
		Long: `Compare the objects of a set in the cluster with its last good revision, and show each field that
others changed, with the program that owns it. The set is the package in a folder (default: the
working folder), an app (-a), a package without its folder (--record), or what a Set of the
controller keeps (set/NAME). What controllers set, such as the replicas of an autoscaler, is left
alone and counted; --include controllers shows it. A set that another program deployed has no
revision: compare it with its files (--against ., for an app with -f).

--fix puts back what drifted, and nothing else: it makes a plan, prints it, and on a terminal runs it
after you have confirmed it. Fields get their values back, those that others added are removed, and
objects that were deleted are created again. --accept writes what others changed into the files of
the set instead, so that the next apply keeps it. It prints how the files change, and on a terminal
writes them after you have confirmed it; comments and layout stay.

Exit codes:
  0    nothing drifted; with --fix nothing drifts any more; with --accept all is in the files
  1    the set, or an object of it, could not be compared or fixed, or a file not written: the error says why
  2    something drifted; with --fix or --accept something still does
  3    with --fix: an object failed, or was not ready in time
  130  interrupted; --watch ends as its last comparison: 0 or 2`,
		Example: "  " + env.Name() + " drift wordpress\n" +
			"  " + env.Name() + " drift -a web -n shop -o markdown\n" +
			"  " + env.Name() + " drift wordpress --audit audit.log\n" +
			"  " + env.Name() + " drift wordpress --fix\n" +
			"  " + env.Name() + " drift -a web -f web.yaml --accept",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, env, kube, args)
		},
	}
	f.Add(cmd)
	f.addFix(cmd)
	return cmd
}

func (f *driftFlags) run(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.checkFix(cmd, env); err != nil {
		return err
	}
	args, err := f.UseSet(cmd.Context(), env, kube, args)
	if err != nil {
		return err
	}
	switch {
	case f.fix:
		return f.runFix(cmd, env, kube, args)
	case f.accept:
		return f.runAccept(cmd, env, kube, args)
	}
	r, err := f.Run(cmd.Context(), env, kube, args)
	if err != nil {
		return err
	}
	return r.Exit()
}
