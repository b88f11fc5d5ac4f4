// Package crash lets a process that panics end in order, in whichever goroutine that happens: the
// runtime would leave a screen on the terminal, and print a stack trace into it.
package crash

import (
	"context"
	"runtime/debug"
)

// Handler handles a panic, with the stack of its goroutine. It does not return: the state of the
// process is unknown.
type Handler func(cause any, stack []byte)

type handlerKey struct{}

// With returns a context in which Catch calls a handler.
func With(ctx context.Context, handle Handler) context.Context {
	return context.WithValue(ctx, handlerKey{}, handle)
}

// Catch passes a panic to the handler of the context. Goroutines defer it. Without a handler the
// panic continues.
func Catch(ctx context.Context) {
	handle, ok := ctx.Value(handlerKey{}).(Handler)
	if !ok {
		return
	}
	if cause := recover(); cause != nil {
		handle(cause, debug.Stack())
	}
}
