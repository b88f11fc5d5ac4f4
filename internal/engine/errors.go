package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// TimedOutError is the error of a step that was retried until Retry.For was over.
type TimedOutError struct {
	After time.Duration
	Last  error // of the last attempt
}

func (e *TimedOutError) Error() string {
	return fmt.Sprintf("timed out after %s: %v", e.After, e.Last)
}

// Unwrap returns the last error.
func (e *TimedOutError) Unwrap() error { return e.Last }

// ErrOutOfTime is the cause of a context that ends a run because its time is over. What is waited
// for has timed out then; other ends of the context interrupt it.
var ErrOutOfTime = errors.New("the time of the run is over")

// AbsentError is the error of an object that others were expected to create.
type AbsentError struct{}

func (e *AbsentError) Error() string { return "External resource doesn't exists" }

// LingeringError is the error of an object that was deleted to be recreated and still exists.
type LingeringError struct {
	Causes []ready.Cause // what delays the deletion
}

func (e *LingeringError) Error() string {
	text := "the old object still exists"
	for _, c := range e.Causes {
		text += ": " + c.Message
	}
	return text
}

// NotRecreatedError is the error of an object that was deleted to be recreated, and was not created
// again.
type NotRecreatedError struct {
	Err error // why
	// Waits is true while the run waits until the object can be created.
	Waits bool
	// Uncertain is true if it is unknown what became of the last request: the creation or, if
	// Undeleted is true, the deletion.
	Uncertain, Undeleted bool
}

func (e *NotRecreatedError) Error() string {
	switch {
	case e.Waits:
		return fmt.Sprintf("deleted, and not created again yet: %v", e.Err)
	case e.Undeleted:
		return fmt.Sprintf("perhaps deleted, but not created again: %v; apply again", e.Err)
	case e.Uncertain:
		return fmt.Sprintf("deleted, but not created again, as far as known: %v; apply again to create "+
			"it", e.Err)
	default:
		return fmt.Sprintf("deleted, but not created again: %v; apply again to create it", e.Err)
	}
}

// Unwrap returns why the object was not created.
func (e *NotRecreatedError) Unwrap() error { return e.Err }

// ContestedError is the error of a step whose object others changed before every attempt to write
// it.
type ContestedError struct {
	Attempts int
	Last     error // of the last attempt
}

func (e *ContestedError) Error() string {
	return fmt.Sprintf("it was changed by others before each of %d attempts: %v", e.Attempts, e.Last)
}

// Unwrap returns the last error.
func (e *ContestedError) Unwrap() error { return e.Last }

// PreconditionError is the error of a step whose manifest has metadata that is not that of its
// object, which the server takes for a precondition.
type PreconditionError struct{ Field string } // of metadata

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("the manifest has a metadata.%s, which is not that of the object, so that the "+
		"server would refuse it; take it out", e.Field)
}

// RecordError is the error of a run whose record could not be saved or deleted.
type RecordError struct {
	Action string // as "delete the record"
	Before bool   // the run has written no object
	Err    error
}

func (e *RecordError) Error() string { return e.Action + ": " + e.Err.Error() }

// Unwrap returns the error of the record.Store.
func (e *RecordError) Unwrap() error { return e.Err }

// EndedBeforeRun reports whether an error of the record ended a run before it wrote an object.
func EndedBeforeRun(err error) bool {
	broken := (*RecordError)(nil)
	return errors.As(err, &broken) && broken.Before
}

// UnauthorizedError is the error of a run that ended because the server refused its credentials.
type UnauthorizedError struct {
	For  time.Duration
	Last error // the answer of the server
}

func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("the server has refused the credentials for %s: %v", e.For, e.Last)
}

// Unwrap returns the answer of the server.
func (e *UnauthorizedError) Unwrap() error { return e.Last }

// maxUnanswered is how many objects an UnansweredError names.
const maxUnanswered = 5

// UnansweredError says which writes an interrupted run waits for.
type UnansweredError struct{ Refs []object.Ref }

func (e *UnansweredError) Error() string {
	var names []string
	for _, ref := range e.Refs[:min(len(e.Refs), maxUnanswered)] {
		names = append(names, ref.String())
	}
	text := "no answer yet to the write of " + strings.Join(names, ", ")
	if more := len(e.Refs) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
