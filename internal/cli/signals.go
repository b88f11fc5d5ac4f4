package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interruption is why a context ended that interruptible gave.
type interruption struct{}

func (interruption) Error() string { return "interrupted" }

// Is says that it is what the end of any context is.
func (interruption) Is(target error) bool { return target == context.Canceled }

// interruptible gives a context that ends with the first SIGINT, SIGTERM or SIGHUP, so that the run can come to an orderly
// end; the second one ends the process at once. A hang-up that the process was started to ignore, by nohup, stays ignored.
// A reader of the output that goes away ends nothing: what is written then is an error like any other. The function ends
// the watch for signals.
func interruptible(env *Env) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	unread := make(chan os.Signal, 1) // nobody takes from it: it keeps the signal from ending the process
	signal.Notify(unread, syscall.SIGPIPE)
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
			cancel(interruption{})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(unread)
		close(done)
		cancel(nil)
	}
}
