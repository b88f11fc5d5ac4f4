package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Formatter is a dialect's wording. Each function gives lines without their newlines; none means that nothing is said.
type Formatter struct {
	Event   func(b *RunState, e event.Event) []string // what happened; the board has it already
	Notice  func(e event.Event) string                // what concerns the run rather than the object; said once for all objects
	Omitted func(objects int) string                  // so many more were explained than are shown
	Totals  func(b *RunState) []Total                 // the totals of the run, in the order in which they are printed
}

// Total is a line that is printed as soon as what it counts is complete, or else at the end.
type Total struct {
	Complete bool
	Line     string
}

// Lines prints a line per event as it comes, and each total when it is due.
func Lines(out io.Writer, p *plan.Plan, words Formatter) Printer {
	return &lines{out: out, board: NewRunState(p), words: words, told: map[int]string{}, explained: [2]map[int]bool{{}, {}}}
}

// explainedMost is of how many objects it is shown why they are not ready, while they are waited for and again when they
// were not ready in the end. The screen of somebody who looks for what is wrong has no room for more.
const explainedMost = 20

type lines struct {
	out     io.Writer
	board   *RunState
	words   Formatter
	printed int    // totals
	notice  string // the last one

	explained [2]map[int]bool // the steps that were: while they were waited for, and at the end
	told      map[int]string  // the causes that were printed last, by step
	err       error
}

// Event prints one event.
func (l *lines) Event(e event.Event) {
	l.board.Add(e)
	if notice := l.words.Notice(e); notice != l.notice {
		l.notice = notice
		if notice != "" {
			l.print(notice)
		}
	}
	said := l.words.Event(l.board, e)
	if !l.repeats(e, said) && !l.hides(e) {
		for _, line := range said {
			l.print(line)
		}
		if e.Kind == event.Explained {
			l.told[e.Step] = strings.Join(said, "\n")
		}
	}
	l.due(false)
}

// repeats reports whether an explanation says what was said of the object last.
func (l *lines) repeats(e event.Event, said []string) bool {
	text := strings.Join(said, "\n")
	return e.Kind == event.Explained && l.told[e.Step] == text
}

// hides reports whether an event explains one object too many.
func (l *lines) hides(e event.Event) bool {
	if e.Kind != event.Explained {
		return false
	}
	steps := l.explained[0]
	if l.board.Rows[e.Step].Settled != "" {
		steps = l.explained[1]
	}
	shown := steps[e.Step] && l.told[e.Step] != ""
	steps[e.Step] = true
	return !shown && len(steps) > explainedMost
}

// Close prints the totals that are still to come, and what was left out. A run that failed before it began has no totals.
func (l *lines) Close(failed error) error {
	if more := len(l.explained[1]) - explainedMost; more > 0 {
		l.print(l.words.Omitted(more))
	}
	if failed == nil || l.board.Applies.Acted+l.board.Removes.Acted > 0 {
		l.due(true)
	}
	return l.err
}

// due prints totals in their order, up to the first that is not complete.
func (l *lines) due(end bool) {
	totals := l.words.Totals(l.board)
	for l.printed < len(totals) && (end || totals[l.printed].Complete) {
		l.print(totals[l.printed].Line)
		l.printed++
	}
}

func (l *lines) print(line string) {
	if _, err := fmt.Fprintln(l.out, Printable(line)); err != nil && l.err == nil {
		l.err = fmt.Errorf("write the output: %w", err)
	}
}
