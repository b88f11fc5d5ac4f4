// Package kpt holds the commands of kpt live: they parse flags, call package packages and print.
package kpt

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// Commands returns the groups of the commands of kpt: live, and those below alpha.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	return []*cobra.Command{newLive(env, kube), newAlpha(env, kube)}
}
