package muster

import (
	"fmt"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
)

// EventType is the type of an event.
type EventType string

// The types of events. A step has at most one Written, any number of Changed and Explained, and one
// Ended. A workload that was ready, and is not any more when all other objects are, is waited for
// again: another Waiting and another Ended follow.
const (
	Written   EventType = "written"   // the write has ended, or there was nothing to write
	Waiting   EventType = "waiting"   // the object is written, and is waited for
	Changed   EventType = "changed"   // the object has another status
	Explained EventType = "explained" // why the object is not ready
	Ended     EventType = "ended"     // the step has ended
)

// Outcome is how a write, a step or a run ended.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Skipped     Outcome = "skipped"     // an object that it depends on failed
	TimedOut    Outcome = "timed out"   // it was not ready in time
	Interrupted Outcome = "interrupted" // the context ended first
)

// outcomeOf returns an outcome of the packages of the program.
func outcomeOf(o event.Outcome) Outcome { return Outcome(o) }

// State is the state of an object.
type State struct {
	Status  string // Current, InProgress, Failed, Terminating, NotFound or Unknown
	Message string
	Causes  []string // why the object is not ready, the first reason first
}

// Event is one thing that happened to an object during a run.
type Event struct {
	Type    EventType
	Object  Object
	Action  Action
	Outcome Outcome // of Written and Ended
	State   State
	// Unstored are the fields that were sent and that the server does not store (Written).
	Unstored []string
	Err      error // does not hold values of Secrets
}

// String returns the event in one line.
func (e Event) String() string {
	text := fmt.Sprintf("%s %s", e.Object, e.Type)
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s: %s: %v", text, e.Outcome, e.Err)
	case e.Type == Written:
		return fmt.Sprintf("%s: %s %s", text, e.Action, e.Outcome)
	case e.Outcome != "":
		return fmt.Sprintf("%s: %s", text, e.Outcome)
	case len(e.State.Causes) > 0:
		return fmt.Sprintf("%s: %s", text, e.State.Causes[0])
	default:
		return fmt.Sprintf("%s: %s", text, e.State.Status)
	}
}

// eventTypes are the events that programs see.
var eventTypes = map[event.Kind]EventType{
	event.Acted: Written, event.Waiting: Waiting, event.Observed: Changed,
	event.Explained: Explained, event.Settled: Ended,
}

// newEvent returns an event of the packages of the program. It reports false for one that programs
// do not see.
func newEvent(e event.Event) (Event, bool) {
	kind, ok := eventTypes[e.Kind]
	if e.Kind == event.Retried && len(e.Causes) > 0 { // why it is not created yet
		kind, ok = Explained, true
	}
	if !ok || e.Ref.Name == "" {
		return Event{}, false
	}
	return Event{
		Type: kind, Object: Object(e.Ref), Action: actionOf(e.Op), Outcome: outcomeOf(e.Outcome),
		State: State{
			Status: string(e.Status.State), Message: e.Status.Message, Causes: textsOf(e.Causes),
		},
		Unstored: e.Unstored, Err: errorOf(e),
	}, true
}

// errorOf returns the error of an event. That of a write which is repeated is among its causes.
func errorOf(e event.Event) error {
	if e.Kind == event.Retried {
		return nil
	}
	return e.Err
}

// textsOf returns causes as messages.
func textsOf(causes []ready.Cause) (texts []string) {
	for _, c := range causes {
		texts = append(texts, c.Message)
	}
	return texts
}
