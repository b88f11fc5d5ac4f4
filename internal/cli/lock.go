package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
)

// lockManager is the field manager of locks.
const lockManager = "muster"

// DefaultLockTimeout is how long a command waits for another run of its set.
const DefaultLockTimeout = 5 * time.Minute

// LockFlags are the flags of commands that change a set, for its lock.
type LockFlags struct {
	Lock      bool
	Timeout   time.Duration
	Supersede bool
	NoYield   bool
	Quiet     bool // nothing is printed if leases are forbidden
}

// NewLockFlags returns the defaults.
func NewLockFlags() LockFlags { return LockFlags{Lock: true, Timeout: DefaultLockTimeout} }

// Add adds the flags.
func (f *LockFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.Lock, "lock", f.Lock,
		"Lock the set, so that no other run changes it at the same time")
	flags.DurationVar(&f.Timeout, "lock-timeout", f.Timeout,
		"Time to wait for another run that holds the lock; 0 fails at once")
	flags.BoolVar(&f.Supersede, "supersede", f.Supersede,
		"Ask the run that holds the lock to stop, as if it were interrupted")
	flags.BoolVar(&f.NoYield, "no-yield", f.NoYield, "Do not stop for a run with --supersede")
}

// Acquire locks a set for a command, and returns the lock and the context of the run, which ends
// when the lock is lost. It prints for whom it waits. The lock is nil if none is wanted, the user
// may not use leases, or the namespace of the record does not exist yet.
func (f LockFlags) Acquire(
	ctx context.Context, env *Env, c cluster.Writer, set lock.Set, command string,
) (*lock.Lock, context.Context, error) {
	if !f.Lock {
		return nil, ctx, nil
	}
	options := lock.Options{
		Holder: f.holder(env, command), Wait: f.Timeout, Supersede: f.Supersede, Manager: lockManager,
		Waiting: func(h lock.Holder) {
			env.Notice("waiting for " + h.Describe(env.Now()))
		},
	}
	if !f.Quiet {
		options.Forbidden = func(e *lock.ForbiddenError) { env.Notice("note: " + e.Error()) }
	}
	held, run, err := lock.AcquireIfPossible(ctx, c, set, options)
	if held == nil {
		return nil, run, err
	}
	context.AfterFunc(run, func() {
		lost, superseded := (*lock.LostError)(nil), (*lock.SupersededError)(nil)
		switch cause := context.Cause(run); {
		case errors.As(cause, &superseded):
			env.Notice("interrupted: " + cause.Error())
		case errors.As(cause, &lost): // the error of the command says to whom
			env.Notice("interrupted: the lock is lost: no more writes are begun")
		}
	})
	return held, run, nil
}

// Release releases the lock of a run, which may be nil, and returns the error of a command whose
// run has ended with an error: a *lock.LostError if that is the reason why the run ended early, or
// if a run that was complete did not have the lock any more.
func Release(ctx context.Context, held *lock.Lock, err error) error {
	lost, result := (*lock.LostError)(nil), (*ResultError)(nil)
	if !errors.As(held.Release(ctx), &lost) {
		return err
	}
	interrupted := errors.As(err, &result) && result.Interrupted || errors.Is(err, context.Canceled)
	if err == nil || interrupted || errors.As(err, new(*lock.LostError)) {
		return lost
	}
	return err
}

// holder returns the description of this run.
func (f LockFlags) holder(env *Env, command string) lock.Holder {
	host, _ := os.Hostname() // empty if it is not known
	return lock.Holder{
		User: env.Login(), Host: host, PID: os.Getpid(), Run: lock.NewRun(), Command: command,
		CI: env.Job(), Since: env.Now(), NoYield: f.NoYield,
	}
}

// Login returns the name of the user of the operating system, or "".
func (e *Env) Login() string { return cmp.Or(e.Getenv("USER"), e.Getenv("LOGNAME")) }

// Job returns the address of the job of a pipeline that the environment describes, or "".
func (e *Env) Job() string {
	if run := e.Getenv("GITHUB_RUN_ID"); run != "" {
		return e.Getenv("GITHUB_SERVER_URL") + "/" + e.Getenv("GITHUB_REPOSITORY") + "/actions/runs/" +
			run
	}
	return cmp.Or(e.Getenv("CI_JOB_URL"), e.Getenv("BUILD_URL")) // GitLab, Jenkins
}
