// Package event is the vocabulary of a run: what can happen to a step, as facts.
//
// The engine emits events from one goroutine, in order; a view turns them into words. Events carry no sentences of their
// own, no colours and no times.
package event

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Kind tells what happened.
type Kind string

// The kinds, in the order in which they reach a step. Every step that concerns an object is Settled once, and Acted once
// before that unless the run was interrupted before its write was over. Waiting comes at most once between the two, Observed
// any number of times after it, and Retried any number of times before Acted.
const (
	Acted    Kind = "acted"    // the write is over, or there was none to do: Op, Outcome and Err say how it went
	Waiting  Kind = "waiting"  // the object is written but not yet ready, or not yet gone
	Observed Kind = "observed" // the object was seen in a new Status
	Settled  Kind = "settled"  // nothing more will happen to the step: Outcome
	// Retried tells by Err why the step is tried again: in a moment or, where an object is missing that somebody else is to
	// create, when it is there.
	Retried Kind = "retried"
	// Explained tells by Causes why a step is not ready: while it is waited for, when they change, and once after the run
	// if it never was.
	Explained Kind = "explained"
)

// Outcome is how a write, or the step as a whole, ended.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Skipped     Outcome = "skipped"
	TimedOut    Outcome = "timed out"
	Interrupted Outcome = "interrupted" // the run was told to end before the step did
)

// DeletionRequested is the reason of a Status that only says that the deletion was accepted.
const DeletionRequested = "DeletionRequested"

// IsFailure reports whether the outcome makes the run as a whole unsuccessful.
func (o Outcome) IsFailure() bool { return o == Failed || o == TimedOut || o == Interrupted }

// Event is one fact about one step. For an event that is not about a step of a plan (from Observe) Step counts the objects.
type Event struct {
	Kind     Kind          `json:"kind"`
	Step     int           `json:"step"`
	Ref      object.Ref    `json:"ref"`
	Op       plan.Op       `json:"op,omitempty"` // what was really done: an update that changed nothing is unchanged
	Status   ready.Status  `json:"status,omitzero"`
	Outcome  Outcome       `json:"outcome,omitempty"`
	Reason   string        `json:"reason,omitempty"`  // why it was skipped or kept, as the plan says
	Blocker  *int          `json:"blocker,omitempty"` // the step whose failure or skipping made this one be skipped
	RunEnded bool          `json:"early,omitempty"`   // it was skipped because the Blocker's failure ended the whole run
	Causes   []ready.Cause `json:"causes,omitempty"`  // why the object is not ready (Explained; Observed at the first look)
	Facts    *ready.Facts  `json:"-"`                 // of the object that was seen in the Status; nil if none was
	Err      error         `json:"-"`

	Released    bool `json:"released,omitempty"` // from now on its dependants may start, although it is not ready; said once
	StepTimeout bool `json:"own,omitempty"`      // it timed out by the step's own limit, and not by that of the run

	// Children are the child objects that the rules show beside the object (Waiting, Observed,
	// Settled).
	Children []ready.Child `json:"children,omitempty"`
	// Tag is the tag of the step, a value of the dialect that made the plan.
	Tag any `json:"-"`

	// DryRunObject is, of an Acted event in a server dry run, the object as the server would have stored it; else nil.
	DryRunObject *unstructured.Unstructured `json:"-"`
}

// Sink receives events. It is called from one goroutine at a time and must not block for long.
type Sink func(Event)

// plainEvent has Event's fields without its methods.
type plainEvent Event

// wireEvent is the JSON form: the error becomes its text.
type wireEvent struct {
	plainEvent
	Error string `json:"error,omitempty"`
}

// MarshalJSON writes the error as text.
func (e Event) MarshalJSON() ([]byte, error) {
	wire := wireEvent{plainEvent: plainEvent(e)}
	if e.Err != nil {
		wire.Error = e.Err.Error()
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads what MarshalJSON writes; the error keeps its text alone.
func (e *Event) UnmarshalJSON(data []byte) error {
	var wire wireEvent
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*e = Event(wire.plainEvent)
	if wire.Error != "" {
		e.Err = errors.New(wire.Error)
	}
	return nil
}
