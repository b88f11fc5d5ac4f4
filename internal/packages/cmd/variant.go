package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// variant is the difference between the native commands and those of kpt live. Each command exists
// once and gets one of the two.
type variant struct {
	command    string // before the name of a command, in examples
	arguments  cobra.PositionalArgs
	strict     bool // flags without effect are errors
	savesPlans bool // plans can be saved and applied later

	leavesReplicas  bool // replicas are left to autoscalers
	onlyInventories bool // owners other than packages are not recognized

	recreates bool // objects with immutable fields are recreated if wanted

	ordering          string            // default of --ordering
	pruneAfterFailure bool              // default of --prune-after-failure
	refusals          map[string]string // by flag: the error for a value that is not allowed

	initObject string // in the message of init

	// printLines prints --output events, tableColumns --output table. rowDetails returns the text
	// of a row that a table truncated; nil prints none.
	printLines   func(outputOptions, *plan.Plan, view.PhaseOptions) view.Printer
	tableColumns columns
	rowDetails   func(view.TableRow) string
	// failureReason formats failures in JSON and tables, errorText errors in JSON.
	failureReason func(plan.Adoption) reasonFunc
	errorText     func(error) string
	detailed      bool // causes are printed, and JSON has all keys

	// statusLine formats --output events of status, statusTable the columns of --output table;
	// nil is the default table.
	statusLine     func(*packages.StatusTargets, event.Event) string
	statusTable    func(*packages.StatusTargets, func() time.Time) []view.Column
	failsUnlessMet bool // status exits with 3 if the awaited state was not reached
}

// lockFlags returns the defaults of the flags for locks.
func (v variant) lockFlags() cli.LockFlags {
	f := cli.NewLockFlags()
	f.Quiet = !v.detailed
	return f
}

// native returns the variant of the native commands.
func native(env *cli.Env) variant {
	return variant{
		command:    env.Name(),
		arguments:  cobra.MaximumNArgs(1),
		strict:     true,
		savesPlans: true, leavesReplicas: true, recreates: true,
		ordering:   "graph",
		initObject: "inventory info",
		printLines: func(s outputOptions, p *plan.Plan, t view.PhaseOptions) view.Printer {
			s.wording.waits, s.wording.statuses = t.Waits, t.Statuses
			return view.Lines(s.env.Out, p, s.wording.formatter())
		},
		tableColumns:   nativeTable,
		rowDetails:     nativeRowDetails,
		failureReason:  func(plan.Adoption) reasonFunc { return view.PlainReason },
		errorText:      error.Error,
		detailed:       true,
		statusLine:     nativeStatus,
		failsUnlessMet: true,
	}
}

// live returns the variant of kpt live, below the command with the given words.
func live(env *cli.Env, words string) variant {
	return variant{
		command:           env.Name() + " " + words,
		arguments:         cobra.ArbitraryArgs,
		ordering:          "waves",
		pruneAfterFailure: true,
		onlyInventories:   true,
		refusals: map[string]string{
			"output":           "unknown output type %q",
			"inventory-policy": "inventory policy must be one of strict, adopt",
			"poll-until":       "pollUntil must be one of known,current,deleted,forever",
		},
		initObject: "data",
		printLines: func(s outputOptions, p *plan.Plan, t view.PhaseOptions) view.Printer {
			return liveLines(s.env.Out, p, t, s.reason())
		},
		tableColumns:  liveTable,
		failureReason: liveReasons,
		errorText:     liveMessage,
		statusLine:    liveStatus,
		statusTable:   liveStatusTable,
	}
}

// outputOptions is how a run is printed.
type outputOptions struct {
	variant   variant
	output    string // events, json or table
	statuses  bool   // new statuses are printed
	waves     bool   // the run is ordered in waves
	adoption  plan.Adoption
	wording   wording
	env       *cli.Env
	lock      *lock.Lock // of the run; may be nil
	childRows childRowsFunc
}

// reasonFunc returns why a write failed or was skipped.
type reasonFunc func(*view.RunState, view.PhaseEvent) string

func (s outputOptions) reason() reasonFunc { return s.variant.failureReason(s.adoption) }

// json returns the printer of JSON.
func (s outputOptions) json() view.JSONLines {
	return view.JSONLines{
		Out: s.env.Out, Now: s.env.Now, Reason: s.reason(), Detailed: s.variant.detailed,
	}
}

// fail returns the error that prevents a run. JSON output prints it too.
func (s outputOptions) fail(err error) error {
	if s.output == "json" {
		_ = s.json().Fail(s.variant.errorText(err)) // err matters more than a failure to print it
	}
	return err
}

// printer returns the printer for the run of a plan.
func (s outputOptions) printer(p *plan.Plan, waits bool) view.Printer {
	options := view.PhaseOptions{Rounds: s.waves, Waits: waits, Statuses: s.statuses}
	switch s.output {
	case "json":
		options.Unstarted = s.variant.detailed
		return jsonPrinter{Printer: view.Phases(p, options, s.json().Print), s: s}
	case "table":
		form := view.TableOptions{
			Columns: s.variant.tableColumns(p, s.env.Now),
			Run:     view.NewRunState(p),
			Reason:  s.reason(),
			Details: s.variant.rowDetails,
			Footer:  "\n",
		}
		if waits {
			form.Children = s.childRows
		}
		return view.Table(s.env.Out, s.env.Terminal(), view.PlanRows(p), form)
	default:
		return s.variant.printLines(s, p, options)
	}
}

// jsonPrinter prints the error that ended a run last.
type jsonPrinter struct {
	view.Printer
	s outputOptions
}

// Close prints the rest.
func (j jsonPrinter) Close(failed error) error {
	err := j.Printer.Close(failed)
	if failed != nil && err == nil {
		_ = j.s.fail(failed)
	}
	return err
}

// statusHelp returns the help about the exit codes of status.
func (v variant) statusHelp() string {
	if !v.failsUnlessMet {
		return `Exit codes:
  0    the state was shown
  1    the state could not be read: the error says why
  130  interrupted`
	}
	return `Exit codes:
  0    the state was shown; with --poll-until current or deleted: all objects are
  1    the state could not be read: the error says why
  3    with --poll-until current or deleted: not all objects are, and the time is up or all that is
       left has failed
  130  interrupted`
}
