package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interruptible gives a context that ends with the first SIGINT or SIGTERM, so that the run can come to an orderly end; the
// second one ends the process at once. The function ends the watch for signals.
func interruptible(env *Env) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	// It ends with the function that is returned, or with the process.
	go func() {
		for count := 1; ; count++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if count > 1 {
				os.Exit(exitInterrupted)
			}
			fmt.Fprintln(env.Err, "interrupted: coming to an orderly end (once more to quit now)")
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
