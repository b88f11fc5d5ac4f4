package sets

import (
	"context"

	"github.com/muster-deploy/muster/internal/lock"
)

// Protocol is how a set is changed, by whomever: the set is locked, the plan is made and checked,
// the cluster is made to hold the record, and the plan is run and recorded while the lock is held.
type Protocol struct {
	// Lock locks a set. The lock is nil if there can be none. The context is that of the run, which
	// ends when the lock is lost.
	Lock func(context.Context, lock.Set) (*lock.Lock, context.Context, error)
	// Unlock releases the lock, and returns the error of the run, which it is given.
	Unlock func(context.Context, *lock.Lock, error) error
	// Plan makes the plan, and returns an error unless it may be run. Locked reports whether the set
	// is locked.
	Plan func(ctx context.Context, locked bool) error
	// Check looks at a plan that is made again because the definition of the kind of records is new.
	Check func(context.Context) error
	// Run runs the plan and records the result.
	Run func(context.Context, *lock.Lock) error
}

// Change changes the set of an operation.
func (p Protocol) Change(ctx context.Context, op *Operation) (err error) {
	held, run, err := p.Lock(ctx, op.Locked)
	if err != nil {
		return err
	}
	defer func() { err = p.Unlock(ctx, held, err) }()
	if err := p.Plan(run, held != nil); err != nil {
		return err
	}
	again, err := op.Define(run)
	if err == nil && again {
		err = p.Check(run)
	}
	if err != nil {
		return err
	}
	return p.Run(run, held)
}
