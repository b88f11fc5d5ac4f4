package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/changes"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/live"
	"github.com/muster-deploy/muster/internal/show/view"
)

// live returns the printer that draws a run on the terminal or, if none can be drawn on and in dry
// runs, prints lines.
func (r run) live(p *plan.Plan, show view.RunOptions) view.Printer {
	show.Output = view.OutputText
	screen, ok := r.env.Fullscreen()
	if !ok || show.DryRun {
		return show.Printer(p)
	}
	title := r.command + " " + show.Header.Set + ", " + show.Header.Cluster
	state := live.NewRun(p, live.Options{
		Title: title, Now: r.env.Now, ASCII: r.env.IsASCII(),
		Reason: view.PlainReason, Notice: cli.UnreachableLine, Logs: r.logs.reader(p),
	})
	beside, _ := r.env.Err.(*view.TerminalWriter)
	o := view.PhaseOptions{Waits: !show.NoWait}
	printer, err := live.Printer(state, screen, beside, func(out io.Writer) view.Printer {
		return r.wording.summary(out, p, o)
	})
	if err != nil {
		return show.Printer(p)
	}
	return printer
}

// maxSummarized limits the objects that the end of a run on a screen names: the totals have to be
// seen.
const maxSummarized = 20

// summary returns a printer of the lines that stay on the terminal after a run on a screen: the
// first objects that changed, and the totals.
func (w wording) summary(out io.Writer, p *plan.Plan, o view.PhaseOptions) view.Printer {
	w.dryRun, w.waits, w.statuses = o.DryRun, o.Waits, false
	f, printed, more := w.formatter(), 0, 0
	f.Notice = func(event.Event) string { return "" }
	f.Event = func(b *view.RunState, e event.Event) []string {
		if e.Kind != event.Acted || e.Outcome == event.Failed { // failures are explained below
			return nil
		}
		lines := w.lines(b, e)
		if len(lines) == 0 {
			return nil
		}
		if printed == maxSummarized {
			more++
			return nil
		}
		printed++
		return lines
	}
	f.Totals = func(b *view.RunState) []view.Total {
		totals := w.totals(b)
		if more > 0 {
			totals = append([]view.Total{{Line: fmt.Sprintf("... and %d more", more)}}, totals...)
		}
		for i := range totals {
			totals[i].Complete = false // all are printed at the end
		}
		return totals
	}
	return view.Lines(out, p, f)
}

// question is a plan that the user is asked about.
type question struct {
	shown   setflags.Shown
	held    []object.Ref // objects that hold others, and would be deleted
	defines string       // what is done to the definition of records; empty for nothing

	reviewed []string // notes about what the plan does
	asked    cli.Question
}

// notes returns the lines below the plan.
func (q question) notes() (lines []string) {
	if len(q.held) > 0 {
		lines = append(lines, heldTitle)
	}
	for _, ref := range q.held {
		lines = append(lines, "- "+ref.String())
	}
	if q.defines != "" {
		lines = append(lines, q.defines)
	}
	return append(lines, q.reviewed...)
}

// printPlan prints the plan.
func (r run) printPlan(ctx context.Context, q question) error {
	terminal := view.Terminal{Colour: r.show.Terminal.Colour, Width: r.show.Terminal.Width}
	return r.differences.Print(ctx, r.env, r.env.Err, terminal, q.shown)
}

// agreesBelow asks the user below the printed plan.
func (r run) agreesBelow(ctx context.Context, q question) (bool, error) {
	for _, line := range q.notes() {
		r.env.Notice(line)
	}
	return r.env.Confirm(ctx, q.asked)
}

// agrees asks the user about a plan: below the plan or, if the terminal allows it, on a screen.
// After the screen the plan and the answer are printed.
func (r run) agrees(ctx context.Context, q question) (bool, error) {
	answer, err := r.env.Ask(ctx, func() (string, error) { return r.askOnScreen(ctx, q) })
	below := errors.Is(err, fullscreen.ErrUnsupported) // it is no reason to fail
	if printed := r.printPlan(ctx, q); printed != nil {
		if below {
			return false, printed
		}
		return false, cmp.Or(err, printed)
	}
	if below {
		return r.agreesBelow(ctx, q)
	}
	for _, line := range q.notes() {
		r.env.Notice(line)
	}
	r.env.Notice(q.asked.String() + answer)
	return cli.IsYes(answer), err
}

// askOnScreen shows the plan on a screen until the user has answered.
func (r run) askOnScreen(ctx context.Context, q question) (string, error) {
	screen, ok := r.env.Fullscreen()
	if !ok || r.differences.Tool != "" {
		return "", fullscreen.ErrUnsupported
	}
	text := func(list []changes.Change, full bool) func(columns int) string {
		return func(columns int) string {
			var b strings.Builder
			terminal := view.Terminal{Colour: screen.Colour, Width: columns}
			err := changes.Print(&b, terminal, list, "", changes.Options{Full: full})
			if err != nil {
				return "error: " + err.Error()
			}
			return b.String()
		}
	}
	asked := live.Question{
		All: text(q.shown.Changes, r.differences.Full), Totals: q.shown.Totals, Notes: q.notes(),
		Text: q.asked.String(), ASCII: r.env.IsASCII(),
	}
	for i, c := range q.shown.Changes {
		change := live.Change{Sign: c.Sign, Line: c.Line, More: c.More}
		if c.Before != nil || c.After != nil {
			change.Difference = text(q.shown.Changes[i:i+1], true)
		}
		asked.Changes = append(asked.Changes, change)
	}
	beside, _ := r.env.Err.(*view.TerminalWriter)
	return live.Ask(ctx, asked, screen, beside)
}
