package setflags

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets"
)

// Complete completes the flags of a command that name a set, if it has them: apps and packages
// with a record in the namespace; and the one that names a cluster.
func Complete(cmd *cobra.Command, kube *cli.Kube) {
	if cmd.Flags().Lookup("expect-cluster") != nil {
		kube.CompleteExpected(cmd)
	}
	for flag, kind := range map[string]string{"app": sets.KindApp, "record": sets.KindPackage} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		cli.CompleteFlag(cmd, flag, func(cmd *cobra.Command) []string {
			return kube.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
				return namesOf(ctx, c, kube, kind)
			})
		})
	}
}

// namesOf returns the names of the sets of a kind in the namespace.
func namesOf(ctx context.Context, c sets.Cluster, kube *cli.Kube, kind string) []string {
	namespace, _, err := kube.Namespace()
	if err != nil {
		return nil
	}
	listed, _ := sets.List(ctx, c, namespace) // what cannot be listed is left out
	var names []string
	for _, l := range listed {
		if l.Kind == kind {
			names = append(names, l.Name)
		}
	}
	return names
}
