// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"
	"runtime/debug"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/program"
)

func main() {
	debug.SetTraceback("none") // a panic of a goroutine is one line, unless GOTRACEBACK asks for more
	kustomize.OwnProcess()
	os.Exit(run())
}

// run is the program: the native commands and those of compatible tools, or those of the tool whose
// name it is called by. A build with the tag profile puts its profiles around it.
var run = func() int { return program.Main(cli.ProcessEnv()) }
