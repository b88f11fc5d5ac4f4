// Package event defines the events that a run emits about its steps.
//
// The engine emits events from one goroutine, in order; a view prints them. Events hold facts only:
// no sentences, colours or times.
package event

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events. A step that concerns an object has any number of Retried, then one Acted, at
// most one Waiting, any number of Observed, and one Settled. Only an interrupted step lacks its
// Acted, unless it has deleted its object to recreate it. A step that has succeeded may be waited
// for once more, before the run ends: another Waiting says so, and another Settled ends it.
const (
	Acted    Kind = "acted"    // the write ended: Op, Outcome and Err hold the result
	Waiting  Kind = "waiting"  // the object is written but not ready yet, or not deleted yet
	Observed Kind = "observed" // the object has a new Status
	Settled  Kind = "settled"  // the step ended: Outcome
	// Retried reports a write that is retried because of Err: after a moment or, if another client is
	// to create the object, as soon as it exists. If an object that is being deleted is in the way,
	// the Status is Terminating, and the write is sent as soon as that is gone.
	Retried Kind = "retried"
	// Explained reports the Causes why a step is not ready: whenever they change during the wait, and
	// once after the run if the step never became ready.
	Explained Kind = "explained"
)

// Outcome is the result of a write or of a step.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Skipped     Outcome = "skipped"
	TimedOut    Outcome = "timed out"
	Interrupted Outcome = "interrupted" // the run ended before the step did
)

// DeletionRequested is the reason of a Status whose only news is that the deletion was accepted.
const DeletionRequested = "DeletionRequested"

// IsFailure reports whether the outcome makes the run unsuccessful.
func (o Outcome) IsFailure() bool { return o == Failed || o == TimedOut || o == Interrupted }

// Event is one thing that happened to a step. In events of Observe, Step is the index of the
// object.
type Event struct {
	Kind    Kind         `json:"kind"`
	Step    int          `json:"step"`
	Ref     object.Ref   `json:"ref"`
	Op      plan.Op      `json:"op,omitempty"` // an update without changes is unchanged
	Status  ready.Status `json:"status,omitzero"`
	Outcome Outcome      `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"` // why it was skipped or kept, from the plan
	// ReasonCode is the machine-readable form of Reason.
	ReasonCode plan.ReasonCode `json:"reasonCode,omitempty"`

	// Blocker is the step whose failure or skipping caused this one to be skipped; RunEnded is true
	// if the failure ended the whole run.
	Blocker  *int `json:"blocker,omitempty"`
	RunEnded bool `json:"early,omitempty"`

	// Causes are the reasons why the object is not ready (Explained, and the first Observed).
	Causes []ready.Cause `json:"causes,omitempty"`
	Facts  *ready.Facts  `json:"-"` // of the object that has the Status; nil if none was read
	Err    error         `json:"-"`

	Released    bool `json:"released,omitempty"` // dependents may start although it is not ready
	Relapsed    bool `json:"relapsed,omitempty"` // Waiting: the step had succeeded before
	StepTimeout bool `json:"own,omitempty"`      // the step's own limit expired, not that of the run

	// Children are the child objects that the rules show beside the object (Waiting, Observed,
	// Settled).
	Children []ready.Child `json:"children,omitempty"`
	// Tag is the tag of the step, a value of the dialect that made the plan.
	Tag any `json:"-"`

	// DryRunObject is the object as the server would store it, in an Acted event of a dry run that has
	// asked the server; else nil.
	DryRunObject *unstructured.Unstructured `json:"-"`
	// Recreates is true in an Acted event of a dry run if an update would delete the object and
	// create it again.
	Recreates bool `json:"recreates,omitempty"`
	// Unstored are the paths of values that were sent and that the server does not store, in an Acted
	// event, as diff.Unstored returns them.
	Unstored []string `json:"unstored,omitempty"`
	// NotRecreated is true in an Acted event of a step that deleted its object to recreate it, and has
	// not created it again; and in the first Retried event with a reason why it has not yet.
	NotRecreated bool `json:"notRecreated,omitempty"`
	// Awaits is, in the first Retried event of a step for which a webhook of the same set cannot be
	// called yet, the object whose pods serve the webhook.
	Awaits *object.Ref `json:"awaits,omitempty"`
}

// Sink receives events. It is called from one goroutine at a time and must not block for long.
type Sink func(Event)

// plainEvent has Event's fields without its methods.
type plainEvent Event

// jsonEvent is the JSON form: the error becomes its text.
type jsonEvent struct {
	plainEvent
	Error string `json:"error,omitempty"`
}

// MarshalJSON encodes the error as its text.
func (e Event) MarshalJSON() ([]byte, error) {
	encoded := jsonEvent{plainEvent: plainEvent(e)}
	if e.Err != nil {
		encoded.Error = e.Err.Error()
	}
	return json.Marshal(encoded)
}

// UnmarshalJSON decodes the output of MarshalJSON; of the error only its text remains.
func (e *Event) UnmarshalJSON(data []byte) error {
	var encoded jsonEvent
	if err := json.Unmarshal(data, &encoded); err != nil {
		return err
	}
	*e = Event(encoded.plainEvent)
	if encoded.Error != "" {
		e.Err = errors.New(encoded.Error)
	}
	return nil
}
