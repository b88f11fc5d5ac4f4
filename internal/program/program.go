// Package program puts the commands of all packages together to one command line: the native
// commands, and those of the tools whose grammars muster has.
package program

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/locks"
	"github.com/muster-deploy/muster/internal/cli/run"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/compat/kapp"
	"github.com/muster-deploy/muster/internal/compat/kpt"
)

// The headings of the help.
const (
	native     = "Commands"
	compatible = "Compatibility"
)

// programs returns the programs that muster is if it is called by their names.
func programs() map[string]cli.Program {
	return map[string]cli.Program{"kapp": kapp.Program}
}

// groups returns the groups of commands.
func groups() []cli.Group {
	return []cli.Group{
		{Title: native, Commands: run.Commands},
		{Title: native, Commands: lockCommands},
		{Title: compatible, Name: "kpt", Commands: kpt.Commands},
	}
}

// lockCommands returns the commands about locks, which complete the names of sets as others do.
func lockCommands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	all := locks.Commands(env, kube)
	for _, cmd := range all {
		setflags.Complete(cmd, kube)
	}
	return all
}

// Main runs the command line of an environment and returns the exit code.
func Main(env *cli.Env) int { return cli.Main(env, programs(), groups()...) }

// Commands returns all commands under the name of the environment, to describe them.
func Commands(env *cli.Env) *cobra.Command { return cli.NewRoot(env, programs(), groups()) }

// Kapp returns the commands of the program kapp, to describe them.
func Kapp(env *cli.Env) *cobra.Command { return kapp.NewRoot(env) }
