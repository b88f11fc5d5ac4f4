package packageflags

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// NewInstall returns the command install-resource-group.
func NewInstall(env *cli.Env, kube *cli.Kube) *cobra.Command {
	return &cobra.Command{
		Use:   "install-resource-group",
		Short: "Install or update the ResourceGroup definition in the cluster",
		Long: `Install the CustomResourceDefinition of ResourceGroup, in which packages store their
inventory, or update it if it lacks something. apply does the same.

Exit codes:
  0  the definition is there
  1  it could not be installed: the error says why`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("too many arguments; install-resource-group takes no arguments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := kube.Client()
			if err != nil {
				return err
			}
			fmt.Fprint(env.Out, "installing inventory ResourceGroup CRD...")
			if err := packages.Install(cmd.Context(), client); err != nil {
				fmt.Fprintln(env.Out, "failed")
				return err
			}
			fmt.Fprintln(env.Out, "success")
			return nil
		},
	}
}
