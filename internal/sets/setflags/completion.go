package setflags

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets"
)

// Complete completes the flags of a command, and of those below it, that name a set: apps and
// packages with a record in the namespace; and those that name a cluster, kinds or namespaces of
// objects, or a folder.
func Complete(cmd *cobra.Command, kube *cli.Kube) {
	for _, child := range cmd.Commands() {
		Complete(child, kube)
	}
	completeObjects(cmd, kube)
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

// completeObjects completes the flags that choose objects, if the command has them.
func completeObjects(cmd *cobra.Command, kube *cli.Kube) {
	flags := cmd.Flags()
	if flags.Lookup("filter-kind") != nil {
		kube.CompleteKinds(cmd, "filter-kind", false)
	}
	for _, flag := range []string{"filter-ns", "namespaces", "new-namespace"} {
		if flags.Lookup(flag) != nil {
			kube.CompleteNamespaces(cmd, flag)
		}
	}
	if flags.Lookup("kustomize") != nil {
		// The only error is a flag that does not exist.
		_ = cmd.MarkFlagDirname("kustomize")
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
