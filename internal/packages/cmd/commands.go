// Package cmd is the commands that deploy packages: the native ones and those of kpt live. They parse flags, call
// package packages and print.
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
