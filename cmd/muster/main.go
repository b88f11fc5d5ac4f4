// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"
	"runtime/debug"

	appscmd "github.com/muster-deploy/muster/internal/apps/cmd"
	"github.com/muster-deploy/muster/internal/cli"
	lockcmd "github.com/muster-deploy/muster/internal/lock/cmd"
	packagescmd "github.com/muster-deploy/muster/internal/packages/cmd"
	setscmd "github.com/muster-deploy/muster/internal/sets/cmd"
)

func main() {
	debug.SetTraceback("none") // a panic of a goroutine is one line, unless GOTRACEBACK asks for more
	os.Exit(run())
}

// run is the program: the native commands and those of compatible tools, or those of the tool whose
// name it is called by. A build with the tag profile puts its profiles around it.
var run = func() int {
	const native, compatible = "Commands", "Compatibility"
	return cli.Main(cli.ProcessEnv(), map[string]cli.Program{"kapp": appscmd.Program},
		cli.Group{Title: native, Commands: setscmd.Commands},
		cli.Group{Title: native, Commands: lockcmd.Commands},
		cli.Group{Title: compatible, Name: "kpt", Commands: packagescmd.Commands})
}
