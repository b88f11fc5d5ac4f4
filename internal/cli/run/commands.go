// Package run holds the native commands that change sets, and lists all native ones: they parse
// flags, open sets, run operations and print.
package run

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/artifacts"
	"github.com/muster-deploy/muster/internal/cli/look"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cli/setflags"
)

// Commands returns the native commands.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	form := packageflags.InitForm{
		Command: env.Name(), Arguments: cli.Arguments(0, 1), Object: "inventory info", Guard: true,
		FolderName: true,
	}
	all := []*cobra.Command{
		packageflags.NewInit(env, kube, form),
		newPlan(env, kube),
		newApply(env, kube),
		newStatus(env, kube),
		look.NewList(env, kube),
		look.NewInspect(env, kube),
		look.NewTree(env, kube),
		look.NewGraph(env, kube),
		look.NewWhy(env, kube),
		look.NewLogs(env, kube),
		look.NewHistory(env, kube),
		look.NewDiff(env, kube),
		newDrift(env, kube),
		newRollback(env, kube),
		newReport(env),
		newDestroy(env, kube),
		newRename(env, kube),
		newConvert(env, kube),
		newAdopt(env, kube),
		look.NewLabel(env, kube),
		newGroups(env, kube),
		look.NewCheckAccess(env, kube),
		look.NewSets(env, kube),
		newReconcile(env, kube),
		newApprove(env, kube),
		newSuspend(env, kube, true),
		newSuspend(env, kube, false),
		packageflags.NewMigrate(env, kube, form, cli.NewLockFlags()),
		packageflags.NewInstall(env, kube),
	}
	all = append(all, artifacts.Commands(env)...)
	for _, cmd := range all {
		setflags.Complete(cmd, kube)
	}
	return all
}
