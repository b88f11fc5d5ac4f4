// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/kapp"
	"github.com/muster-deploy/muster/internal/kpt"
)

// run runs the command line of this process, and gives the exit code. A build with profiles puts them around it.
var run = func() int {
	return cli.Main(cli.Process(), map[string]cli.Program{"kapp": kapp.Program}, kpt.Commands, kapp.Commands)
}

func main() {
	os.Exit(run())
}
