package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interruption is the cause of a context that a signal cancelled.
type interruption struct{}

func (interruption) Error() string { return "interrupted" }

// Is reports true for context.Canceled.
func (interruption) Is(target error) bool { return target == context.Canceled }

// unanswered is the error of a question that a signal ended: it comes before the first write.
type unanswered struct{}

func (unanswered) Error() string { return "interrupted: nothing was changed" }

// Is reports true for context.Canceled.
func (unanswered) Is(target error) bool { return target == context.Canceled }

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, so that the run
// can finish its writes; a second one that is not SIGHUP exits at once. SIGHUP stays ignored if the
// process was started to ignore it, as by nohup. SIGPIPE ends nothing: a write to a closed pipe
// returns an error. The function stops the handling of signals.
func interruptible(env *Env) (context.Context, func()) {
	env.asking = &atomic.Int32{}
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
	go handleSignals(signals, done, func() {
		if env.asking.Load() == 0 { // else the error of the question says what happened
			fmt.Fprintln(env.Err, "interrupted: finishing writes in progress "+
				"(press Ctrl-C again to quit immediately)")
		}
		cancel(interruption{})
	}, func() {
		env.Restorer.Restore()
		os.Exit(ExitInterrupted)
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(unread)
		close(done)
		cancel(nil)
	}
}

// handleSignals calls first for the first signal, and again for each later one, until done is
// closed. A later SIGHUP asks for nothing: a terminal that disappears sends several, one by its
// shell and one by the kernel when the shell has ended.
func handleSignals(signals <-chan os.Signal, done <-chan struct{}, first, again func()) {
	for interrupted := false; ; interrupted = true {
		select {
		case sig := <-signals:
			switch {
			case !interrupted:
				first()
			case sig != syscall.SIGHUP:
				again()
			}
		case <-done:
			return
		}
	}
}
