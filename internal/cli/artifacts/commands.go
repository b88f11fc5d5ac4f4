// Package artifacts holds the commands that push folders to registries as artifacts, pull them, and
// list what registries have.
package artifacts

import (
	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
)

// Commands returns the commands.
func Commands(env *cli.Env) []*cobra.Command {
	return []*cobra.Command{newPush(env), newPull(env), newArtifacts(env)}
}

// outputText is the output format of push and pull for people.
const outputText = "text"

// newOutput returns the choice of the output format.
func newOutput() cli.Choice {
	return cli.Choice{Value: outputText, Meaning: "output",
		Allowed: []string{outputText, cli.OutputJSON, cli.OutputYAML}}
}

// count returns a number with a noun in the singular or plural.
func count(n int, noun string) (int, string) {
	if n != 1 {
		noun += "s"
	}
	return n, noun
}
