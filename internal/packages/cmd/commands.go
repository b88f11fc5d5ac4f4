// Package cmd is the commands that deploy packages: the native ones and those of kpt live. They
// parse flags, call package packages and print.
package cmd

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// Commands returns the native commands, and the groups of the commands of kpt. A program with the
// name kpt has the groups alone.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	groups := []*cobra.Command{newLive(env, kube), newAlpha(env, kube)}
	if env.Name() == "kpt" {
		return groups
	}
	own := append(commands(env, kube, native(env)), newPlan(env, kube, native(env)))
	return append(own, groups...)
}

// commands returns the commands that both variants have.
func commands(env *cli.Env, kube *cli.Kube, v variant) []*cobra.Command {
	return []*cobra.Command{
		newInit(env, kube, v),
		newApply(env, kube, v),
		newStatus(env, kube, v),
		newDestroy(env, kube, v),
		newMigrate(env, kube, v),
		newInstall(env, kube),
	}
}
