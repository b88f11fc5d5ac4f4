// Package kpt is the dialect of packages: a folder of manifests with a ResourceGroup that identifies its inventory, in the
// grammar of kpt live.
//
// It holds what is particular to packages (commands and flags, annotations, the format of the record, defaults and
// wording) and turns it into neutral policy for the engine.
package kpt

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// Commands are the commands of the dialect.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	return []*cobra.Command{
		newInit(env, kube),
		newPlan(env, kube),
		newApply(env, kube),
		newStatus(env, kube),
		newDestroy(env, kube),
		newMigrate(env, kube),
		newInstall(env, kube),
	}
}
