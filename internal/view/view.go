// Package view prints plans and events.
//
// It knows forms of output (lines, tables, totals) and no wording: a dialect passes that in as
// functions.
package view

import (
	"github.com/muster-deploy/muster/internal/event"
)

// Printer prints a run while it happens. Event is an event.Sink. Close prints the rest and returns
// the first write error; failed is the error that ended the run early, if any.
type Printer interface {
	Event(event.Event)
	Close(failed error) error
}
