// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/kapp"
	"github.com/muster-deploy/muster/internal/kpt"
)

func main() {
	os.Exit(run())
}

// run is the program: the commands of packages and of apps, or those of the tool whose name it is called by. A build with
// the tag profile puts its profiles around it.
var run = func() int {
	return cli.Main(cli.Process(), map[string]cli.Program{"kapp": kapp.Program},
		cli.Group{Title: "Packages", Name: "kpt", Commands: kpt.Commands},
		cli.Group{Title: "Apps", Commands: kapp.Commands})
}
