package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const exitInterrupted = 130

// interrupts returns a context that ends when the run is interrupted, or when the process that
// started it is gone. A second Ctrl-C ends the process at once.
func interrupts() (context.Context, func()) {
	// SIGTERM stays caught: the kernel sends one for every thread of a parent that ends.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	// Output that nobody reads any more must not end the process before it has ended all others. Were
	// the signal ignored, the commands of the scripts would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if signal.Ignored(syscall.SIGHUP) { // as under nohup: the commands of the scripts would inherit it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	endWithParent()
	return ctx, stop
}

// onInterrupt ends everything, this process included, once the context is done. The function that
// it returns is called when the tests have finished, and does not return if an interrupt has come
// by then.
func onInterrupt(ctx context.Context, temp string) (finished func()) {
	stop := context.AfterFunc(ctx, func() {
		fmt.Fprintln(os.Stderr, "e2e: interrupted: ending the plane and all commands")
		sweep(temp) // what the tests, which still run, start meanwhile, the sweeper ends
		os.Exit(exitInterrupted)
	})
	return func() {
		if !stop() {
			select {} // the process is about to end
		}
	}
}
