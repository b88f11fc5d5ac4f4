package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
)

// renewal is what is known of the Lease of a lock, for several goroutines.
type renewal struct {
	turn chan struct{} // holds one token while somebody renews

	mu    sync.Mutex
	last  time.Time // when the last renewal that succeeded was sent
	state leaseState
	// failed is the error of the last attempt; nil if it succeeded.
	failed error
	lost   *LostError // nil while the lock is not lost
}

// leaseState is what the last attempt to renew a Lease has found out.
type leaseState int

const (
	leaseOurs      leaseState = iota // the time of the last renewal says for how long
	leaseDoubtful                    // others have written or deleted it
	leaseLost                        // another run has it, or it was deleted
	leaseNamespace                   // it is gone with its namespace: there is nothing to renew
)

// hold begins to renew a lock whose Lease was written by a request that was sent at some time.
func (l *Lock) hold(
	ctx context.Context, stored *unstructured.Unstructured, sent time.Time,
) (*Lock, context.Context, error) {
	l.uid, l.version = stored.GetUID(), stored.GetResourceVersion()
	l.renewal.turn, l.renewal.last = make(chan struct{}, 1), sent
	run, cancel := context.WithCancelCause(cluster.Guard(ctx, l.await))
	own := cluster.Unguarded(context.WithoutCancel(ctx))
	renewing, stop := context.WithCancel(own)
	lost, lose := context.WithCancelCause(own)
	l.cancel = func(cause error) {
		cancel(cause)
		lose(cause)
	}
	l.lost, l.stop, l.done = lost, stop, make(chan struct{})
	// It ends with Release.
	go l.renewals(renewing)
	return l, run, nil
}

// renewals renews the lock until Release, or until it is lost.
func (l *Lock) renewals(ctx context.Context) {
	defer close(l.done)
	defer crash.Catch(ctx)
	ticker, late := time.NewTicker(RenewPeriod), time.NewTimer(loseAfter)
	defer ticker.Stop()
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-late.C:
		}
		l.attempt(ctx)
		state, lost, age := l.known()
		if lost != nil || state == leaseNamespace {
			return
		}
		late.Reset(max(loseAfter-age, time.Second))
	}
}

// known returns what is known of the Lease, and how long ago it was renewed.
func (l *Lock) known() (state leaseState, lost *LostError, age time.Duration) {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	return l.renewal.state, l.renewal.lost, since(l.renewal.last)
}

// await returns once the lock is known to be held, so that a write may begin. If the last renewal
// is too old, it renews the lock first. The error is that of the lost lock, or of the context.
func (l *Lock) await(ctx context.Context) error {
	for {
		switch {
		case l.lost.Err() != nil:
			return context.Cause(l.lost)
		case l.isHeld():
			return nil
		}
		l.attempt(cluster.Unguarded(context.WithoutCancel(ctx)))
		if l.lost.Err() != nil || l.isHeld() {
			continue
		}
		select {
		case <-time.After(PollPeriod):
		case <-l.lost.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isHeld reports whether no other run can have taken the lock over, as far as is known.
func (l *Lock) isHeld() bool {
	state, _, age := l.known()
	return state == leaseNamespace || state == leaseOurs && age < loseAfter
}

// since returns how long ago a time was. The clock for intervals stands still while the machine is
// suspended, and that of the day may be set: the later one counts.
func since(begun time.Time) time.Duration {
	now := time.Now()
	return later(now.Sub(begun), begun, now)
}

// later returns the interval between two times of the day if it is longer than a measured one.
func later(measured time.Duration, begun, now time.Time) time.Duration {
	return max(measured, now.Round(0).Sub(begun.Round(0)))
}

// attempt renews the lock, unless that has just been done, and ends the run if the lock is lost.
// One goroutine does so at a time. The end of ctx breaks it off without a conclusion.
func (l *Lock) attempt(ctx context.Context) {
	began := time.Now()
	l.renewal.turn <- struct{}{}
	defer func() { <-l.renewal.turn }()
	l.renewal.mu.Lock()
	r := renewal{state: l.renewal.state, last: l.renewal.last, lost: l.renewal.lost,
		failed: l.renewal.failed}
	l.renewal.mu.Unlock()
	age := since(r.last)
	switch {
	case r.lost != nil || r.state == leaseNamespace || r.last.After(began) || ctx.Err() != nil:
		return
	case r.failed != nil && age >= loseAfter && age < loseAfter+PollPeriod:
		l.lose(r.failed) // no process has been stopped: another attempt would come too late
		return
	}
	within, cancel := context.WithTimeout(ctx, min(requestTime, max(loseAfter-age, lastTime)))
	defer cancel()
	sent := time.Now()
	state, err := l.renew(within)
	if taken := (*takenError)(nil); state == leaseLost && !errors.As(err, &taken) {
		l.settle(leaseDoubtful, err, sent) // meanwhile nothing is written
		state = l.stateOfNamespace(within)
	}
	if ctx.Err() != nil {
		return // the lock is released
	}
	age = l.settle(state, err, sent)
	if err != nil && (state == leaseLost || state != leaseNamespace && age >= loseAfter) {
		l.lose(err)
	}
}

// settle keeps what an attempt to renew the lock has found out, and returns how long ago the lock
// was renewed.
func (l *Lock) settle(state leaseState, err error, sent time.Time) (age time.Duration) {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	if l.renewal.state, l.renewal.failed = state, err; err == nil {
		l.renewal.last = sent
	}
	return since(l.renewal.last)
}

// lose ends the run because its lock is lost.
func (l *Lock) lose(cause error) {
	lost := &LostError{Set: l.set, Cause: cause}
	l.renewal.mu.Lock()
	l.renewal.lost = lost
	l.renewal.mu.Unlock()
	l.cancel(lost)
}

// The causes of a *LostError, beside those of requests.
type takenError struct{ by Holder }

func (e *takenError) Error() string { return e.by.Describe(time.Now()) + " took it over" }

var errRemoved = errors.New("it was removed, or another run has taken it over and ended")

// renew renews the lock once, and returns what that says about the Lease.
func (l *Lock) renew(ctx context.Context) (leaseState, error) {
	var err error
	for range 3 {
		lease := l.lease(nil)
		lease.SetUID(l.uid) // else the server would create a Lease that is gone
		lease.SetResourceVersion(l.version)
		var stored *unstructured.Unstructured
		stored, err = l.write(ctx, lease, cluster.Replace)
		switch {
		case err == nil:
			l.version = stored.GetResourceVersion()
			return leaseOurs, nil
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, namespaceTerminating):
			return leaseLost, errRemoved
		case !apierrors.IsConflict(err):
			return leaseOurs, err
		}
		live, readErr := l.read(ctx)
		switch {
		case readErr != nil:
			return leaseDoubtful, readErr
		case live == nil:
			return leaseLost, errRemoved
		case identityOf(live) != l.id:
			return leaseLost, &takenError{holderOf(live)}
		}
		l.uid, l.version = live.GetUID(), live.GetResourceVersion()
		if by := live.GetAnnotations()[annotationYield]; by != "" && !l.options.Holder.NoYield {
			l.cancel(&SupersededError{By: by})
		}
	}
	return leaseDoubtful, err
}

// stateOfNamespace returns the state of a Lease that is gone: the run may have deleted its
// namespace itself. It is in doubt if the server does not answer.
func (l *Lock) stateOfNamespace(ctx context.Context) leaseState {
	_, err := l.cluster.Write(ctx, cluster.Write{
		Object: l.lease(nil), Method: cluster.Create, Manager: l.options.Manager, DryRun: true,
	})
	absent, answer := (*NoNamespaceError)(nil), apierrors.APIStatus(nil)
	switch {
	case errors.As(l.explain(err), &absent):
		return leaseNamespace
	case err == nil || errors.As(err, &answer):
		return leaseLost
	default:
		return leaseDoubtful
	}
}

// Release deletes the lock, and returns a *LostError if the run did not have it any more. A lock
// that cannot be deleted for another reason is taken over when it has not been renewed for a while:
// nobody could do anything about it but wait. Release may be called for a nil lock.
func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.stop()
	<-l.done
	l.cancel(nil) // no write begins any more
	l.renewal.turn <- struct{}{}
	defer func() { <-l.renewal.turn }()
	state, lost, _ := l.known()
	if state != leaseLost {
		ctx, cancel := context.WithTimeout(cluster.Unguarded(cluster.Finish(ctx, 0)), requestTime)
		defer cancel()
		if cause := l.remove(ctx, state); lost == nil && cause != nil {
			lost = &LostError{Set: l.set, Cause: cause, Ended: true}
		}
	}
	if lost == nil {
		return nil
	}
	return lost
}

// remove deletes the Lease if it is that of this run. It returns why the run has lost it, nil if
// that is not known.
func (l *Lock) remove(ctx context.Context, state leaseState) error {
	for range 3 {
		_, err := l.cluster.Delete(ctx, cluster.Delete{
			Ref: l.set.Ref(), UID: l.uid, Version: l.version, Missing: true,
			Propagation: metav1.DeletePropagationBackground,
		})
		if apierrors.IsNotFound(err) && state != leaseNamespace &&
			l.stateOfNamespace(ctx) == leaseLost {
			return errRemoved
		}
		if !apierrors.IsConflict(err) {
			return nil
		}
		live, err := l.read(ctx)
		switch {
		case err != nil:
			return nil
		case live == nil:
			return errRemoved
		case identityOf(live) != l.id:
			return &takenError{holderOf(live)}
		}
		l.uid, l.version = live.GetUID(), live.GetResourceVersion()
	}
	return nil
}
