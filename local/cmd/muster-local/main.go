// Command muster-local runs a real Kubernetes control plane on this machine, to deploy to.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errQuiet ends a command with exit code 1 when everything was said already.
var errQuiet = errors.New("said already")

func main() {
	ctx, stop := signal.NotifyContext(
		context.Background(),
		syscall.SIGINT,
		syscall.SIGTERM,
		syscall.SIGHUP,
	)
	// The second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "muster-local: interrupted")
		os.Exit(130)
	}
	if !errors.Is(err, errQuiet) {
		fmt.Fprintln(os.Stderr, "muster-local:", err)
	}
	os.Exit(1)
}
