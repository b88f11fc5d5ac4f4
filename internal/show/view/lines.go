package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// Formatter formats the lines of a dialect, without newlines; an empty result prints nothing.
type Formatter struct {
	Event   func(b *RunState, e event.Event) []string // called after the run state has the event
	Notice  func(e event.Event) string                // about the run; printed when it changes
	Omitted func(objects int) string                  // the number of explanations left out
	Totals  func(b *RunState) []Total                 // in the order of printing
}

// Total is a line that is printed when its count is complete, or else at the end.
type Total struct {
	Complete bool
	Line     string
}

// Lines returns a printer of one line per event, and of each total when it is due.
func Lines(out io.Writer, p *plan.Plan, words Formatter) Printer {
	return &lines{
		out:        out,
		state:      NewRunState(p),
		words:      words,
		lastCauses: map[int]string{},
		explained:  [2]map[int]bool{{}, {}},
	}
}

// maxExplained limits the objects whose causes are printed, during the wait and again at the end. A
// screen has no room for more.
const maxExplained = 20

type lines struct {
	out     io.Writer
	state   *RunState
	words   Formatter
	printed int    // number of totals printed
	notice  string // the last one

	explained  [2]map[int]bool // explained steps: during the wait, and at the end
	lastCauses map[int]string  // the last printed causes by step
	err        error
}

// Event prints one event.
func (l *lines) Event(e event.Event) {
	l.state.Add(e)
	if notice := l.words.Notice(e); notice != l.notice {
		l.notice = notice
		if notice != "" {
			l.print(notice)
		}
	}
	said := l.words.Event(l.state, e)
	if !l.repeats(e, said) && !l.hides(e) {
		for _, line := range said {
			l.print(line)
		}
		if e.Kind == event.Explained {
			l.lastCauses[e.Step] = strings.Join(said, "\n")
		}
	}
	l.printTotals(false)
}

// repeats reports whether an explanation has the text of the last one of its step.
func (l *lines) repeats(e event.Event, said []string) bool {
	text := strings.Join(said, "\n")
	return e.Kind == event.Explained && l.lastCauses[e.Step] == text
}

// hides reports whether an explanation exceeds the limit.
func (l *lines) hides(e event.Event) bool {
	if e.Kind != event.Explained {
		return false
	}
	steps := l.explained[0]
	if l.state.Rows[e.Step].Settled != "" {
		steps = l.explained[1]
	}
	shown := steps[e.Step] && l.lastCauses[e.Step] != ""
	steps[e.Step] = true
	return !shown && len(steps) > maxExplained
}

// Close prints the remaining totals and the number of hidden explanations. A run that failed before
// its first write has no totals.
func (l *lines) Close(failed error) error {
	if more := len(l.explained[1]) - maxExplained; more > 0 {
		l.print(l.words.Omitted(more))
	}
	if failed == nil || l.state.Applies.Acted+l.state.Removes.Acted > 0 {
		l.printTotals(true)
	}
	return l.err
}

// printTotals prints totals in order, up to the first incomplete one unless the run ended.
func (l *lines) printTotals(end bool) {
	totals := l.words.Totals(l.state)
	for l.printed < len(totals) && (end || totals[l.printed].Complete) {
		l.print(totals[l.printed].Line)
		l.printed++
	}
}

func (l *lines) print(line string) {
	if _, err := fmt.Fprintln(l.out, plaintext.Message(line)); err != nil && l.err == nil {
		l.err = fmt.Errorf("write the output: %w", err)
	}
}
