package kpt

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
)

func newStatus(env *cli.Env, kube *cli.Kube) *cobra.Command {
	output := outputs()
	cmd := &cobra.Command{
		Use:   "status [FOLDER]",
		Short: "Show in what state the objects of a package are",
		Long: `Show in what state the objects are that the package in a folder (default: the working folder)
deployed.

Exit codes:
  0  the state was shown, whatever it is
  1  the state could not be read: the error says why`,
		Example:           `  muster status wordpress`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStatus(cmd.Context(), env, kube, folder(args))
		},
	}
	output.addTo(cmd, "output", "form of the output")
	return cmd
}

func runStatus(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string) error {
	inv, err := openInventory(dir)
	if err != nil {
		return err
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	store := &resourceGroup{cluster: client, inventory: inv}
	state, err := store.Load(ctx)
	if err != nil {
		return err
	}
	if len(state.Members) == 0 {
		fmt.Fprintln(env.Out, "no resources found in the inventory")
		return nil
	}
	eng := &engine.Engine{Cluster: client, Records: store}
	return eng.Observe(ctx, state.Refs(), func(e event.Event) {
		fmt.Fprintf(env.Out, "%s is %s: %s\n", e.Ref.Short(), e.Status.State, e.Status.Message)
	})
}
