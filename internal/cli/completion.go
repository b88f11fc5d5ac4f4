package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/muster-deploy/muster/internal/cluster"
)

// completionTimeout limits how long the server is asked for completions.
const completionTimeout = 2 * time.Second

// addCompletion adds completion to the flags for the cluster: of contexts, clusters and users from
// the kubeconfig, and of namespaces from the server.
func (k *Kube) addCompletion(root *cobra.Command) {
	ofConfig := func(flag string, names func(api.Config) []string) {
		CompleteFlag(root, flag, func(*cobra.Command) []string {
			raw, err := k.config().RawConfig()
			if err != nil {
				return nil
			}
			return names(raw)
		})
	}
	ofConfig("context", func(c api.Config) []string { return sortedKeys(c.Contexts) })
	ofConfig("cluster", func(c api.Config) []string { return sortedKeys(c.Clusters) })
	ofConfig("user", func(c api.Config) []string { return sortedKeys(c.AuthInfos) })
	CompleteFlag(root, "namespace", func(cmd *cobra.Command) []string {
		return k.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
			found, _ := c.List(ctx, schema.GroupKind{Kind: "Namespace"}, "", nil)
			names := make([]string, len(found))
			for i, namespace := range found {
				names[i] = namespace.GetName()
			}
			return names
		})
	})
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Ask returns what a function reads from the cluster for a completion, within a short time. Without
// a cluster it returns nil. Errors and warnings are not printed: a completion has nowhere to.
func (k *Kube) Ask(
	cmd *cobra.Command, read func(context.Context, *cluster.Client) []string,
) []string {
	client, err := k.Connect(cluster.Options{})
	if err != nil {
		return nil
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	return read(ctx, client)
}

// CompleteFlag completes the value of a flag with the names that a function returns.
func CompleteFlag(cmd *cobra.Command, flag string, names func(*cobra.Command) []string) {
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return names(cmd), cobra.ShellCompDirectiveNoFileComp
		})
}
