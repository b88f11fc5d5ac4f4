package run

import (
	"errors"
	"time"

	"github.com/muster-deploy/muster"
)

// Outcome is how a run ended.
type Outcome struct {
	Task     Task
	Revision string // of the source; empty if it could not be fetched
	Record   muster.Object
	Plan     *muster.Plan // nil if there was none
	Waiting  bool         // the plan waits for its approval
	Held     bool         // the plan waits for a window
	Opens    time.Time    // the window that it waits for
	Result   *muster.Result
	Drifted  []muster.Drifted
	Fresh    bool   // objects are watched that were not before
	Absent   bool   // nothing is deployed: there is no record
	Orphaned string // why nothing was destroyed, and is not tried again; else empty
	Finished string // what says that an earlier run has destroyed all; else empty
	Err      error
	Phase    Phase // in which the error was
	Began    time.Time
	Ended    time.Time
	cause    error // of the end of the context
}

// Phase is a part of a run.
type Phase string

// The phases.
const (
	Connecting Phase = "connect"
	Fetching   Phase = "fetch"
	Opening    Phase = "open" // manifests that are no objects, kinds that do not exist
	Planning   Phase = "plan"
	Writing    Phase = "write"
)

// Superseded reports whether another run takes the place of the one that ended.
func (o *Outcome) Superseded() bool {
	return errors.Is(o.cause, ErrSuperseded) || o.Overtaken()
}

// Overtaken reports whether the run ended since somebody changed what it had written.
func (o *Outcome) Overtaken() bool { return errors.Is(o.cause, ErrOvertaken) }

// Succeeded reports whether the run did what it was for.
func (o *Outcome) Succeeded() bool {
	return o.Err == nil && (o.Result == nil || o.Result.Outcome == muster.Succeeded)
}
