// Command argocd runs the parts of Argo CD that sync Applications, for tests: its application
// controller, its repository server, and a server that speaks the protocol of Redis, in which the
// two keep their caches.
//
// The first argument is the name of the part. All other arguments are those of the part; redis has
// one, its address. A part ends with its standard input, so that none outlives the tests.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	repositories "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

// parts are the commands of the parts, by name.
var parts = map[string]func() *cobra.Command{
	"application-controller": controller.NewCommand,
	"repo-server":            repositories.NewCommand,
	"redis":                  newRedis,
}

func main() {
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: argocd application-controller | repo-server | redis ARGUMENT...")
		os.Exit(2)
	}
	go func() { // lives as long as the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	command := parts[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}

// newRedis returns the command that serves the protocol of Redis at an address.
func newRedis() *cobra.Command {
	return &cobra.Command{
		Use: "redis ADDRESS", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			server := miniredis.NewMiniRedis()
			if err := server.StartAddr(args[0]); err != nil {
				return err
			}
			for range time.Tick(time.Second) { // until the standard input ends
				server.FastForward(time.Second) // it has no clock of its own
			}
			return nil
		},
	}
}
