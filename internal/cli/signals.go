package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the cause of a context that a signal cancelled.
type interruption struct{}

func (interruption) Error() string { return "interrupted" }

// Is reports true for context.Canceled.
func (interruption) Is(target error) bool { return target == context.Canceled }

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, so that the run
// can finish its writes; the second signal exits at once. SIGHUP stays ignored if the process was
// started to ignore it, as by nohup. SIGPIPE ends nothing: a write to a closed pipe returns an
// error. The function stops the handling of signals.
func interruptible(env *Env) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	unread := make(
		chan os.Signal, 1,
	) // never received from: it keeps the signal from ending the process
	signal.Notify(unread, syscall.SIGPIPE)
	done := make(chan struct{})
	// The goroutine ends with the returned function or the process.
	go func() {
		for count := 1; ; count++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if count > 1 {
				env.Restorer.Restore()
				os.Exit(ExitInterrupted)
			}
			fmt.Fprintln(
				env.Err, "interrupted: finishing writes in progress (press Ctrl-C again to quit immediately)",
			)
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
