package lock

import (
	"fmt"
	"time"
)

// HeldError reports that another run holds the lock.
type HeldError struct {
	Set     Set
	Holder  Holder
	Waited  time.Duration
	Refused bool // it does not stop for others
}

func (e *HeldError) Error() string {
	who := e.Holder.Describe(time.Now())
	if e.Refused {
		return fmt.Sprintf("%s is locked by %s, which does not yield to other runs", e.Set.Name, who)
	}
	return fmt.Sprintf("%s is locked by %s; waited %s (hint: --lock-timeout waits longer, "+
		"--supersede asks that run to stop, and 'muster unlock' removes a lock that nobody renews)",
		e.Set.Name, who, e.Waited)
}

// LostError reports that a run lost its lock: another run may have written meanwhile.
type LostError struct {
	Set   Set
	Cause error
	Ended bool // it was noticed at the end of the run
}

func (e *LostError) Error() string {
	if e.Ended {
		return fmt.Sprintf("the lock of %s was lost before the run ended: %v; another run may have "+
			"written at the same time (hint: run the command again)", e.Set.Name, e.Cause)
	}
	return fmt.Sprintf("the lock of %s is lost: %v; the record is complete, and the same command "+
		"continues", e.Set.Name, e.Cause)
}

func (e *LostError) Unwrap() error { return e.Cause }

// SupersededError reports that another run asked this one to stop.
type SupersededError struct {
	By string // who asked
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("%s takes over (--supersede): no more writes are begun", e.By)
}

// ForbiddenError reports that the user may not use Leases.
type ForbiddenError struct {
	Set   Set
	Cause error
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is not locked: leases in the namespace %q are forbidden, so that "+
		"nothing keeps another run from changing it at the same time", e.Set.Name, e.Set.Namespace)
}

func (e *ForbiddenError) Unwrap() error { return e.Cause }

// NoNamespaceError reports that the namespace of a lock does not exist, or is being deleted.
type NoNamespaceError struct{ Namespace string }

func (e *NoNamespaceError) Error() string {
	return fmt.Sprintf("there is no namespace %q for a lock", e.Namespace)
}
