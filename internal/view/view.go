// Package view turns plans and events into output.
//
// It owns the shapes (lines, totals) and none of the words: a dialect hands those in as small functions.
package view

import (
	"github.com/muster-deploy/muster/internal/event"
)

// Printer shows a run as it happens. Event is an event.Sink. Close writes what is left to say and gives the first error of
// writing; it is told the error that ended the run before its end, if one did.
type Printer interface {
	Event(event.Event)
	Close(failed error) error
}
