package cmd

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// newLive is the group of the commands in the manner of kpt live.
func newLive(env *cli.Env, kube *cli.Kube) *cobra.Command {
	g := live(env, "live")
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Deploy packages with the commands, output and defaults of kpt live",
		Long: `Deploy packages with the commands, output and defaults of kpt live: objects are applied in waves, each
waited for before the next begins, and failures do not keep objects from being pruned.`,
	}
	cmd.AddCommand(spoken(append(commands(env, kube, g), newLivePlan(env, kube, g)))...)
	addPassedOver(cmd)
	return cmd
}

// newAlpha is the group of the commands whose form is not final.
func newAlpha(env *cli.Env, kube *cli.Kube) *cobra.Command {
	g := live(env, "alpha live")
	g.table = progressTable
	alpha := &cobra.Command{Use: "alpha", Short: "Commands whose form is not final"}
	cmd := &cobra.Command{Use: "live", Short: "Deploy packages in the manner of kpt alpha live"}
	cmd.AddCommand(spoken([]*cobra.Command{newApply(env, kube, g), newLivePlan(env, kube, g)})...)
	addPassedOver(cmd)
	alpha.AddCommand(cmd)
	return alpha
}

// spoken has commands tell their errors as kpt live does.
func spoken(cmds []*cobra.Command) []*cobra.Command {
	for _, cmd := range cmds {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return liveError(run(cmd, args)) }
	}
	return cmds
}

// addPassedOver gives a group the flags of kpt that mean nothing here, so that commands that have them work.
func addPassedOver(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.Bool("truncate-output", true, "passed over: output is not truncated")
	flags.Bool("stack-trace", false, "passed over: errors have no traces")
	for _, name := range []string{"truncate-output", "stack-trace"} {
		_ = flags.MarkHidden(name) // the only error is a flag that does not exist
	}
}
