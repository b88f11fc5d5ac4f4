// Package cmd holds the native commands: they parse flags, open sets, run operations and print.
package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages/commands"
	"github.com/muster-deploy/muster/internal/sets"
)

// Commands returns the native commands.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	form := commands.InitForm{
		Command: env.Name(), Arguments: cobra.MaximumNArgs(1), Object: "inventory info", Guard: true,
	}
	all := []*cobra.Command{
		commands.NewInit(env, kube, form),
		newPlan(env, kube),
		newApply(env, kube),
		newStatus(env, kube),
		newList(env, kube),
		newInspect(env, kube),
		newDestroy(env, kube),
		commands.NewMigrate(env, kube, form, cli.NewLockFlags()),
		commands.NewInstall(env, kube),
	}
	for _, cmd := range all {
		completeNames(cmd, kube)
	}
	return all
}

// request returns the request for the set that an argument names.
func request(env *cli.Env, arg string, rules []string) sets.Request {
	return sets.Request{Folder: arg, Stream: env.In, Rules: rules, Notice: env.Notice}
}

// connect connects to the cluster, and returns an error if the set belongs to another one.
func connect(
	ctx context.Context, env *cli.Env, kube *cli.Kube, guard cli.ClusterGuard, set sets.Set,
) (sets.Cluster, error) {
	client, err := kube.Client()
	if err != nil {
		return nil, err
	}
	expected := cli.ExpectedCluster{}
	if set != nil {
		expected.Value, expected.Where = set.Expected()
	}
	return client, guard.Check(ctx, env, kube, client, expected)
}
