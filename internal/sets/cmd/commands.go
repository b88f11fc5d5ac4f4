// Package cmd holds the native commands that change sets, and lists all native ones: they parse
// flags, open sets, run operations and print.
package cmd

import (
	"github.com/spf13/cobra"

	artifactcmd "github.com/muster-deploy/muster/internal/artifact/cmd"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages/commands"
	"github.com/muster-deploy/muster/internal/sets/inspect"
	"github.com/muster-deploy/muster/internal/sets/setflags"
)

// Commands returns the native commands.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	form := commands.InitForm{
		Command: env.Name(), Arguments: cobra.MaximumNArgs(1), Object: "inventory info", Guard: true,
		FolderName: true,
	}
	all := []*cobra.Command{
		commands.NewInit(env, kube, form),
		newPlan(env, kube),
		newApply(env, kube),
		newStatus(env, kube),
		inspect.NewList(env, kube),
		inspect.NewInspect(env, kube),
		inspect.NewTree(env, kube),
		inspect.NewGraph(env, kube),
		inspect.NewWhy(env, kube),
		inspect.NewLogs(env, kube),
		inspect.NewHistory(env, kube),
		inspect.NewDiff(env, kube),
		newDrift(env, kube),
		newRollback(env, kube),
		newReport(env),
		newDestroy(env, kube),
		newRename(env, kube),
		newConvert(env, kube),
		newAdopt(env, kube),
		inspect.NewLabel(env, kube),
		newGroups(env, kube),
		inspect.NewCheckAccess(env, kube),
		inspect.NewSets(env, kube),
		newReconcile(env, kube),
		newApprove(env, kube),
		newSuspend(env, kube, true),
		newSuspend(env, kube, false),
		commands.NewMigrate(env, kube, form, cli.NewLockFlags()),
		commands.NewInstall(env, kube),
	}
	all = append(all, artifactcmd.Commands(env)...)
	for _, cmd := range all {
		setflags.Complete(cmd, kube)
	}
	return all
}
