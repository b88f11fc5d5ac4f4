// The program kpt has the commands of kpt live, from the module of kpt. The others are left out,
// since a module that they need is not on the module proxy.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/kptdev/kpt/commands/live"
	kpterrors "github.com/kptdev/kpt/pkg/lib/errors"
	"github.com/kptdev/kpt/pkg/lib/errors/resolver"
	"github.com/kptdev/kpt/pkg/printer"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	os.Exit(run())
}

// run runs the command that the arguments name, and returns the exit code that kpt would have.
func run() int {
	root := &cobra.Command{Use: "kpt", SilenceUsage: true, SilenceErrors: true}
	ctx := printer.WithContext(context.Background(),
		printer.New(root.OutOrStdout(), root.ErrOrStderr()))
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
	var known *kpterrors.Error
	if errors.As(err, &known) {
		if cause, ok := kpterrors.UnwrapErrors(known); ok {
			err = cause
		}
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return 1
	}
	util.CheckErr(err)
	return 1
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
