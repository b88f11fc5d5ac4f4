package view

import (
	"cmp"
	"io"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// ReasonFunc returns why a write failed or was skipped.
type ReasonFunc func(*RunState, PhaseEvent) string

// ChildRows returns the children of each object as the rows of a tree.
type ChildRows func([]object.Ref) map[object.Ref][]TableRow

// The formats in which a run is printed.
const (
	OutputText  = "text"
	OutputTable = "table"
	OutputJSON  = "json"
)

// RunForm is how a dialect prints a run in each format.
type RunForm struct {
	Lines      func(*plan.Plan, PhaseOptions) Printer // prints OutputText
	Columns    func(*plan.Plan, func() time.Time) []Column
	RowDetails func(TableRow) string // of a row that a table truncated; nil prints none
	Reason     ReasonFunc            // in JSON and tables
	ErrorText  func(error) string    // of an error that ends a run, in JSON; nil prints none
	Detailed   bool                  // JSON has all keys
	Flags      []string              // of kubectl, for the cluster of the run
}

// RunOptions is how one run is printed.
type RunOptions struct {
	RunForm
	Output   string    // one of the formats
	Header   RunHeader // in JSON that has all keys
	Statuses bool      // new statuses are printed
	Waves    bool      // the run is ordered in waves
	DryRun   bool      // the run changes nothing, and waits for nothing
	NoWait   bool      // the run waits for nothing
	Out      io.Writer
	Now      func() time.Time
	Terminal Terminal
	Children ChildRows // of a table; nil for none
	Silent   bool      // nothing is printed before the result of the run
	// Readers returns the printer to all readers of the run; nil prints Output alone.
	Readers func(*plan.Plan, RunOptions) Printer
}

// JSON returns the printer of JSON.
func (o RunOptions) JSON() JSONLines {
	return JSONLines{Out: o.Out, Now: o.Now, Reason: o.Reason, Detailed: o.Detailed}
}

// Fail returns the error that prevents a run. JSON output prints it too.
func (o RunOptions) Fail(err error) error {
	if o.Output == OutputJSON && o.ErrorText != nil {
		_ = o.JSON().Fail(o.ErrorText(err)) // err matters more than a failure to print it
	}
	return err
}

// Printer returns the printer for the run of a plan.
func (o RunOptions) Printer(p *plan.Plan) Printer {
	if readers := o.Readers; readers != nil {
		o.Readers = nil
		return readers(p, o)
	}
	waits := !o.DryRun && !o.NoWait
	options := PhaseOptions{Rounds: o.Waves, Waits: waits, DryRun: o.DryRun, Statuses: o.Statuses}
	switch o.Output {
	case OutputJSON:
		if o.Detailed {
			return newDetailedRun(p, o, options)
		}
		return jsonRun{Printer: Phases(p, options, o.JSON().Print), options: o}
	case OutputTable:
		form := TableOptions{
			Columns: o.Columns(p, o.Now), Run: NewRunState(p), Reason: o.Reason,
			Details: o.RowDetails, Footer: "\n",
		}
		if waits {
			form.Children = o.Children
		}
		return Table(o.Out, o.Terminal, PlanRows(p), form)
	default:
		return o.Lines(p, options)
	}
}

// jsonRun prints the error that ended a run last.
type jsonRun struct {
	Printer
	options RunOptions
}

// Close prints the rest.
func (j jsonRun) Close(failed error) error {
	err := j.Printer.Close(failed)
	if failed != nil && err == nil {
		_ = j.options.Fail(failed)
	}
	return err
}

// detailedRun prints the plan before a run, and what went wrong after it.
type detailedRun struct {
	jsonRun
	lines JSONLines
	word  *FailureSummary
	begun error // of printing the plan
}

func newDetailedRun(p *plan.Plan, o RunOptions, phases PhaseOptions) Printer {
	lines := o.JSON()
	lines.Began, phases.Unstarted = o.Now(), true
	begun := lines.begin(o.Header, p, o.DryRun)
	return detailedRun{
		jsonRun: jsonRun{Printer: Phases(p, phases, lines.Print), options: o},
		lines:   lines, word: NewFailureSummary(p, nil, o.Flags...), begun: begun,
	}
}

// Event prints one event.
func (d detailedRun) Event(e event.Event) {
	d.word.Event(e)
	d.jsonRun.Event(e)
}

// Close prints the rest.
func (d detailedRun) Close(failed error) error {
	err := d.jsonRun.Close(failed)
	return cmp.Or(wrapWrite(d.begun), err, wrapWrite(d.lines.problems(d.word, failed)))
}
