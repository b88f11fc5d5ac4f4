package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// grammar is what differs between the two sets of commands: the native ones and those in the manner of kpt live. Every
// command exists once and is given one of the two.
type grammar struct {
	command string               // the words before the name of a command, in examples
	args    cobra.PositionalArgs // how many folders a command takes
	strict  bool                 // flags that mean nothing, alone or together, are refused
	saves   bool                 // plans can be saved, and carried out as saved

	ordering          string            // default of --ordering
	pruneAfterFailure bool              // default of --prune-after-failure
	refusals          map[string]string // how other values than those allowed are refused, by flag; else in the usual way

	initializes string // what init writes

	lines  func(showing, *plan.Plan, view.PhaseOptions) view.Printer // --output events
	table  columns                                                   // --output table
	below  func(view.TableRow) string                                // what is said below a table that cut it off; nil for nothing
	reason func(plan.Adoption) reasoning                             // why a write failed or did not happen, in JSON and tables
	say    func(error) string                                        // the text of an error, in JSON
	more   bool                                                      // why objects are not ready is told, in JSON with all that is known

	statusLine  func(*packages.StatusTargets, event.Event) string             // --output events of status
	statusTable func(*packages.StatusTargets, func() time.Time) []view.Column // --output table of status; nil is the plain one
	statusCode  bool                                                          // status exits with 3 when what it waited for did not come
}

// native is the grammar of the program's own commands.
func native(env *cli.Env) grammar {
	return grammar{
		command:     env.Name(),
		args:        cobra.MaximumNArgs(1),
		strict:      true,
		saves:       true,
		ordering:    "graph",
		initializes: "inventory info",
		lines: func(s showing, p *plan.Plan, t view.PhaseOptions) view.Printer {
			s.wording.waits, s.wording.statuses = t.Waits, t.Statuses
			return view.Lines(s.env.Out, p, s.wording.words())
		},
		table:      plainTable,
		below:      plainProblem,
		reason:     func(plan.Adoption) reasoning { return plainReason },
		say:        error.Error,
		more:       true,
		statusLine: plainStatus,
		statusCode: true,
	}
}

// live is the grammar of kpt live, whose commands stand behind the given words.
func live(env *cli.Env, words string) grammar {
	return grammar{
		command:           env.Name() + " " + words,
		args:              cobra.ArbitraryArgs,
		ordering:          "waves",
		pruneAfterFailure: true,
		refusals: map[string]string{
			"output":           "unknown output type %q",
			"inventory-policy": "inventory policy must be one of strict, adopt",
			"poll-until":       "pollUntil must be one of known,current,deleted,forever",
		},
		initializes: "data",
		lines: func(s showing, p *plan.Plan, t view.PhaseOptions) view.Printer {
			return liveLines(s.env.Out, p, t, s.reason())
		},
		table:       liveTable,
		reason:      liveReason,
		say:         liveMessage,
		statusLine:  liveStatus,
		statusTable: liveStatusTable,
	}
}

// showing is how a run is shown.
type showing struct {
	grammar  grammar
	output   string // events, json or table
	statuses bool   // new statuses are told of
	phased   bool   // the run goes by waves
	adoption plan.Adoption
	wording  wording
	env      *cli.Env
	made     madeFor // finds what controllers made, for tables
}

// reasoning says why a write failed or did not happen.
type reasoning func(*view.RunState, view.PhaseEvent) string

func (s showing) reason() reasoning { return s.grammar.reason(s.adoption) }

// json is the writer of JSON.
func (s showing) json() jsonLines {
	return jsonLines{out: s.env.Out, now: time.Now, reason: s.reason(), more: s.grammar.more}
}

// fail passes on the error of a run that did not begin. Machine output tells it as well.
func (s showing) fail(err error) error {
	if s.output == "json" {
		_ = s.json().fail(s.grammar.say(err)) // the error itself matters more than that it cannot be printed
	}
	return err
}

// printer shows the run of a plan.
func (s showing) printer(p *plan.Plan, waits bool) view.Printer {
	telling := view.PhaseOptions{Rounds: s.phased, Waits: waits, Statuses: s.statuses}
	switch s.output {
	case "json":
		telling.Unstarted = s.grammar.more
		return jsonPrinter{Printer: view.Phases(p, telling, s.json().tell), s: s}
	case "table":
		form := view.TableOptions{Columns: s.grammar.table(p, time.Now), Run: view.NewRunState(p), Reason: s.reason(), Details: s.grammar.below, Footer: "\n"}
		if waits {
			form.Children = s.made
		}
		return view.Table(s.env.Out, s.env.Terminal(), view.PlanRows(p), form)
	default:
		return s.grammar.lines(s, p, telling)
	}
}

// jsonPrinter tells, at the end, also the error that ended the run.
type jsonPrinter struct {
	view.Printer
	s showing
}

// Close writes what is left to say.
func (j jsonPrinter) Close(failed error) error {
	err := j.Printer.Close(failed)
	if failed != nil && err == nil {
		_ = j.s.fail(failed)
	}
	return err
}

// plainReason is why a write failed or did not happen, in the plain words.
func plainReason(b *view.RunState, m view.PhaseEvent) string {
	switch {
	case m.Mark == view.Acted && m.Event.Outcome == event.Failed:
		return m.Event.Err.Error()
	case m.Mark == view.Acted && m.Event.Outcome == event.Skipped:
		return packages.SkipReason(b, m.Event)
	default:
		return ""
	}
}

// told leaves out of the events of status what the grammar does not tell.
func (g grammar) told(sink event.Sink) event.Sink {
	if g.more {
		return sink
	}
	return func(e event.Event) {
		if e.Causes = nil; e.Kind != event.Explained {
			sink(e)
		}
	}
}

// statusCodes is the paragraph of help about the exit codes of status.
func (g grammar) statusCodes() string {
	if !g.statusCode {
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
