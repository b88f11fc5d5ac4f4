package cluster

import "context"

// guardKey is the context key of the function that permits writes.
type guardKey struct{}

// guard is a function that permits writes; nil permits all.
type guard func(context.Context) error

// Guard returns a context within which each attempt at a write or a deletion first calls a
// function, and is not sent if that returns an error: the error of the request is an
// *InterruptedError then. The function may take its time. A guard of ctx is called, too, and dry
// runs call none.
func Guard(ctx context.Context, permit func(context.Context) error) context.Context {
	outer, _ := ctx.Value(guardKey{}).(guard)
	return context.WithValue(ctx, guardKey{}, guard(func(ctx context.Context) error {
		if outer != nil {
			if err := outer(ctx); err != nil {
				return err
			}
		}
		return permit(ctx)
	}))
}

// Unguarded returns a context without a guard, for what a run writes although it may write no
// objects any more: its record.
func Unguarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, guard(nil))
}

// PermitAtEnd returns what Permit returns about a run, also if its context has ended, as by an
// interrupt. It waits no longer than closing, the context of what a run does at its end.
func PermitAtEnd(run, closing context.Context) error {
	run, cancel := context.WithCancel(context.WithoutCancel(run))
	defer cancel()
	defer context.AfterFunc(closing, cancel)()
	return Permit(run)
}

// Permit returns an *InterruptedError if the guard of the context does not permit a write. A
// Cluster of tests calls it as Client does.
func Permit(ctx context.Context) error {
	permit, _ := ctx.Value(guardKey{}).(guard)
	if permit == nil {
		return nil
	}
	if err := permit(ctx); err != nil {
		return &InterruptedError{Last: err, Unsent: true}
	}
	return nil
}
