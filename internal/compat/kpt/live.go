package kpt

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
)

// newLive returns the group of the commands of kpt live.
func newLive(env *cli.Env, kube *cli.Kube) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Deploy packages with the commands, output and defaults of kpt live",
		Long: `Deploy packages with the commands, output and defaults of kpt live: objects are
applied in waves, each waited for before the next begins, and objects are pruned in spite of
failures.`,
	}
	init := packageflags.InitForm{
		Command: env.Name() + " live", Arguments: cobra.ArbitraryArgs, Object: "data",
	}
	migrate := packageflags.NewMigrate(env, kube, init, lockFlags())
	migrate.Args = cobra.MaximumNArgs(1)
	cmd.AddCommand(withLiveErrors([]*cobra.Command{
		withDirectoryErrors(packageflags.NewInit(env, kube, init)),
		newApply(env, kube, "live", liveTable),
		newStatus(env, kube, "live"),
		newDestroy(env, kube, "live"),
		migrate,
		packageflags.NewInstall(env, kube),
		newPlan(env, kube),
	})...)
	addIgnoredFlags(cmd)
	return cmd
}

// newAlpha returns the group of the commands of kpt alpha live.
func newAlpha(env *cli.Env, kube *cli.Kube) *cobra.Command {
	alpha := &cobra.Command{Use: "alpha", Short: "Commands whose form is not final"}
	cmd := &cobra.Command{Use: "live", Short: "Deploy packages in the manner of kpt alpha live"}
	cmd.AddCommand(withLiveErrors([]*cobra.Command{
		newApply(env, kube, "alpha live", progressTable), newPlan(env, kube),
	})...)
	addIgnoredFlags(cmd)
	alpha.AddCommand(cmd)
	return alpha
}

// directoryError reports an argument of init that is no folder.
type directoryError struct{ argument string }

func (e *directoryError) Error() string {
	return fmt.Sprintf("invalid directory argument: %s", e.argument)
}

// withDirectoryErrors makes init name an argument that is no folder as kpt live init does.
func withDirectoryErrors(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if flag := (*packageflags.FileNameError)(nil); err == nil || errors.As(err, &flag) {
			return err
		}
		dir := cli.Folder(args)
		if info, missing := os.Stat(dir); missing != nil || !info.IsDir() {
			return &directoryError{dir}
		}
		return err
	}
	return cmd
}

// withLiveErrors makes commands print their errors as kpt live does.
func withLiveErrors(cmds []*cobra.Command) []*cobra.Command {
	for _, cmd := range cmds {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return liveError(run(cmd, args)) }
	}
	return cmds
}

// addIgnoredFlags adds flags of kpt that have no effect here, so that commands that set them
// work.
func addIgnoredFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.Bool("truncate-output", true, "Ignored: output is not truncated")
	flags.Bool("stack-trace", false, "Ignored: errors have no stack traces")
	for _, name := range []string{"truncate-output", "stack-trace"} {
		_ = flags.MarkHidden(name) // the only error is a flag that does not exist
	}
}
