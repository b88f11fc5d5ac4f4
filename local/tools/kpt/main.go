// The program kpt has the commands of kpt live, from the module of kpt. The other commands of kpt
// are left out: the module cannot be built with all its dependencies.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/kptdev/kpt/commands/live"
	"github.com/kptdev/kpt/pkg/lib/errors/resolver"
	"github.com/kptdev/kpt/pkg/printer"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	os.Exit(run())
}

// version returns the version of the module of kpt.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == "github.com/kptdev/kpt" {
			return dep.Version
		}
	}
	return "unknown"
}

func run() int {
	root := &cobra.Command{Use: "kpt", SilenceUsage: true, SilenceErrors: true}
	pr := printer.New(root.OutOrStdout(), root.ErrOrStderr())
	ctx := printer.WithContext(context.Background(), pr)
	root.AddCommand(live.GetCommand(ctx, "kpt", version()))
	root.AddCommand(&cobra.Command{
		Use: "version",
		Run: func(*cobra.Command, []string) { fmt.Println(version()) },
	})
	err := cli.RunNoErrOutput(root)
	if err == nil {
		return 0
	}
	if resolved, ok := resolver.ResolveError(err); ok {
		if resolved.Message != "" {
			fmt.Fprintln(os.Stderr, resolved.Message)
		}
		return resolved.ExitCode
	}
	util.CheckErr(err)
	return 1
}
