// Package view prints plans and events.
//
// It formats lines, tables and totals. It contains no wording: a dialect passes that as functions.
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
