// Command muster deploys sets of Kubernetes objects as one unit.
package main

import (
	"os"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/kapp"
	"github.com/muster-deploy/muster/internal/kpt"
)

func main() {
	os.Exit(cli.Main(cli.Process(), map[string]cli.Program{"kapp": kapp.Program}, kpt.Commands, kapp.Commands))
}
