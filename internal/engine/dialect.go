package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Dialect is what a dialect decides during a run, because it depends on what the cluster answers. A function that is nil leaves
// the decision with the engine. None may change what it is given. Rework and Amend are called by workers, several at once;
// the others by the goroutine that emits events, which they must not block for long. Step is the index in the plan.
type Dialect struct {
	// Rework decides what is tried instead of a create of an object that is there, or of an update of one that was changed
	// meanwhile: live is the object as it is now. An Unchanged step ends well without a write. It is asked up to ten times for
	// a step. Its error is that of the step.
	Rework func(step *plan.Step, live *unstructured.Unstructured, refused error) (*plan.Step, error)

	// Amend gives what is to be stored in a second write, in place of what the server made of the first, or what is to be applied
	// where an object that was there was applied by the server; nil if that is right. It
	// is asked again with the object as it is then, for up to a minute, when somebody changes the object in between.
	Amend func(step *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error)

	// Judge judges the object of a step that is waited for, whenever the object or what was made for it is seen anew, in place
	// of Engine.Rules and package ready: Current ends the step well and Failed ends it badly, both at once. That an object is
	// gone is not its business. Made is what Dialect.Made speaks of, in the order of names.
	Judge func(step int, obj *unstructured.Unstructured, made []*unstructured.Unstructured) Verdict

	// Children says what others make for the object of a step, which is watched from the moment at which Judge finds the object not
	// ready: objects of these kinds with these labels in its namespace. Where there are many steps of a kind, one watch of what
	// their labels have in common serves all of them. It is asked of the object as it is wanted, too.
	Children func(step int, obj *unstructured.Unstructured) (kinds []schema.GroupKind, labels map[string]string)

	// Again reports whether a write failed for a reason that passes; it is tried again every RetryEvery.
	Again func(step int, err error) bool
}

// Verdict is what a dialect says of an object.
type Verdict struct {
	Status   ready.Status
	Release  bool          // the dependants of the step may start although the object is not ready; that cannot be taken back
	Children []event.Child // what is to be told of the objects that were made for it
}

// TimedOutError says that a step was tried again until its time for that was over.
type TimedOutError struct {
	After time.Duration
	Last  error // why it was tried again
}

func (e *TimedOutError) Error() string { return fmt.Sprintf("timed out after %s: %v", e.After, e.Last) }

// Unwrap gives the last error.
func (e *TimedOutError) Unwrap() error { return e.Last }

// AbsentError says of an object that somebody else is to create that it is not there.
type AbsentError struct{}

func (e *AbsentError) Error() string { return "External resource doesn't exists" }

// LingeringError says of an object that was deleted, to be created anew, that it is still there.
type LingeringError struct{}

func (e *LingeringError) Error() string {
	return "it was deleted to be created anew, but is still there"
}

// ContestedError says that a step was reworked as often as may be, and that its object was another one every time.
type ContestedError struct {
	Attempts int
	Last     error // what the server answered to the last attempt
}

func (e *ContestedError) Error() string {
	return fmt.Sprintf("somebody else changes it all the time (%d attempts): %v", e.Attempts, e.Last)
}

// Unwrap gives the last answer.
func (e *ContestedError) Unwrap() error { return e.Last }
