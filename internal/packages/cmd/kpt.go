// Package kpt is the dialect of packages: a folder of manifests with a ResourceGroup that identifies its inventory, in the
// grammar of kpt live.
//
// It holds what is particular to packages (commands and flags, annotations, the format of the record, defaults and
// wording) and turns it into neutral policy for the engine.
package cmd

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// Commands are the commands of the dialect: the native ones at the top, and the same in the manner of kpt live below the
// command live. A program that is called kpt has the latter alone.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	groups := []*cobra.Command{newLive(env, kube), newAlpha(env, kube)}
	if env.Name() == "kpt" {
		return groups
	}
	own := append(commands(env, kube, native(env)), newPlan(env, kube, native(env)))
	return append(own, groups...)
}

// commands are the commands of one grammar.
func commands(env *cli.Env, kube *cli.Kube, g grammar) []*cobra.Command {
	return []*cobra.Command{
		newInit(env, kube, g),
		newApply(env, kube, g),
		newStatus(env, kube, g),
		newDestroy(env, kube, g),
		newMigrate(env, kube, g),
		newInstall(env, kube),
	}
}
