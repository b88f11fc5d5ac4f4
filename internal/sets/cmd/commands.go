// Package cmd holds the native commands: they parse flags, open sets, run operations and print.
package cmd

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages/commands"
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
		newList(env, kube),
		newInspect(env, kube),
		newLogs(env, kube),
		newHistory(env, kube),
		newDestroy(env, kube),
		newRename(env, kube),
		newLabel(env, kube),
		newGroups(env, kube),
		newCheckAccess(env, kube),
		commands.NewMigrate(env, kube, form, cli.NewLockFlags()),
		commands.NewInstall(env, kube),
	}
	for _, cmd := range all {
		completeFlags(cmd, kube)
	}
	return all
}
