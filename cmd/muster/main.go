// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"

	appscmd "github.com/muster-deploy/muster/internal/apps/cmd"
	"github.com/muster-deploy/muster/internal/cli"
	lockcmd "github.com/muster-deploy/muster/internal/lock/cmd"
	packagescmd "github.com/muster-deploy/muster/internal/packages/cmd"
	setscmd "github.com/muster-deploy/muster/internal/sets/cmd"
)

func main() {
	os.Exit(run())
}

// run is the program: the commands of packages and of apps, or those of the tool whose name it is
// called by. A build with the tag profile puts its profiles around it.
var run = func() int {
	return cli.Main(cli.ProcessEnv(), map[string]cli.Program{"kapp": appscmd.Program},
		cli.Group{Title: "Packages", Commands: setscmd.Commands},
		cli.Group{Title: "Apps", Commands: appscmd.Commands},
		cli.Group{Title: "Locks", Commands: lockcmd.Commands},
		cli.Group{Title: "Compatibility", Name: "kpt", Commands: packagescmd.Commands})
}
