package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// FailureSummary collects the events of a run, to print at the end which objects failed, why, and
// which command shows more. The zero value is not usable. One goroutine may use it.
type FailureSummary struct {
	state  *RunState
	events []stepEvents
	causes [][]ready.Cause
	// failure returns the text for the error of a write, with the source of the object.
	failure func(*plan.Step, error) string
	flags   []string // of kubectl, for the cluster of the run
}

// NewFailureSummary returns the summary of the run of a plan. The flags are those of kubectl for
// the cluster of the run.
func NewFailureSummary(
	p *plan.Plan, failure func(*plan.Step, error) string, flags ...string,
) *FailureSummary {
	return &FailureSummary{
		state: NewRunState(p), failure: failure, flags: flags,
		events: make([]stepEvents, len(p.Steps)), causes: make([][]ready.Cause, len(p.Steps)),
	}
}

// Event adds one event.
func (w *FailureSummary) Event(e event.Event) {
	w.state.Add(e)
	switch e.Kind {
	case event.Acted:
		w.events[e.Step].acted = e
	case event.Settled:
		w.events[e.Step].settled = e
	}
	if len(e.Causes) > 0 {
		w.causes[e.Step] = e.Causes
	}
}

// shortfall is a way in which an object is not as the run should have made it.
type shortfall int

// The ways, in the order of printing.
const (
	notRecreated shortfall = iota
	notReady
	notGone
	notApplied
	notDeleted
	skipped
	kept
	interrupted
	noShortfall
)

// shortfallTexts are what the first line says about one object, and about several.
var shortfallTexts = [noShortfall][2]string{
	notRecreated: {
		"was deleted, but not created again", "were deleted, but not created again",
	},
	notReady:    {"is not ready", "are not ready"},
	notGone:     {"is not deleted", "are not deleted"},
	notApplied:  {"could not be applied", "could not be applied"},
	notDeleted:  {"could not be deleted", "could not be deleted"},
	skipped:     {"was skipped", "were skipped"},
	kept:        {"was kept", "were kept"},
	interrupted: {"was interrupted", "were interrupted"},
}

// shortfallOf returns what a step did not reach.
func (w *FailureSummary) shortfallOf(i int) shortfall {
	step, row, acted := &w.state.Plan.Steps[i], w.state.Rows[i], w.events[i].acted
	removes := step.Op.AwaitsDeletion()
	switch {
	case step.Ref == object.Ref{}:
		return noShortfall
	case acted.NotRecreated:
		return notRecreated
	case row.Acted == event.Failed && removes:
		return notDeleted
	case row.Acted == event.Failed:
		return notApplied
	case row.Acted == event.Skipped && !w.faulty(step, acted):
		return noShortfall
	case row.Acted == event.Skipped && step.Op.Removes():
		return kept
	case row.Acted == event.Skipped:
		return skipped
	case row.Settled == event.Interrupted:
		return interrupted
	case row.Settled.IsFailure() && removes:
		return notGone
	case row.Settled.IsFailure():
		return notReady
	default:
		return noShortfall
	}
}

// faulty reports whether a skipped object makes the run incomplete: others have to change before it
// is applied or deleted. An object that others have taken over is not pruned, but leaves the set.
func (w *FailureSummary) faulty(step *plan.Step, acted event.Event) bool {
	switch cmp.Or(acted.ReasonCode, step.ReasonCode) {
	case plan.ReasonForeign:
		return acted.Op != plan.Orphan || w.state.Plan.Destroys
	case plan.ReasonUnowned, plan.ReasonHeld, plan.ReasonUnserved:
		return true
	case plan.ReasonProtected:
		return acted.Op == plan.Keep
	default:
		return acted.Blocker != nil
	}
}

// Print prints the last word on a run that took some time. Without a failed object it prints
// nothing.
func (w *FailureSummary) Print(out io.Writer, took time.Duration) {
	steps := w.shortfalls()
	title := w.title(steps, took)
	if title == "" {
		return
	}
	printLine(out, title)
	listed, omitted := 0, 0
	for s, indexes := range steps {
		for _, i := range indexes {
			switch {
			case shortfall(s) == interrupted && w.state.Rows[i].Acted == "":
			case listed == maxExplained:
				omitted++
			default:
				listed++
				for _, line := range w.lines(shortfall(s), i) {
					printLine(out, line)
				}
			}
		}
	}
	if omitted > 0 {
		printLine(out, fmt.Sprintf("... and %d more", omitted))
	}
}

// shortfalls returns the steps that fell short in each way.
func (w *FailureSummary) shortfalls() (steps [noShortfall][]int) {
	for i := range w.state.Plan.Steps {
		if s := w.shortfallOf(i); s != noShortfall {
			steps[s] = append(steps[s], i)
		}
	}
	return steps
}

// title returns the first line, empty if no step fell short.
func (w *FailureSummary) title(steps [noShortfall][]int, took time.Duration) string {
	title := ""
	for s, indexes := range steps {
		n := len(indexes)
		text := shortfallTexts[s][min(max(n, 1), 2)-1]
		switch {
		case n == 0:
		case title == "":
			title = fmt.Sprintf("error: %d of %s %s", n, count(len(w.state.Plan.Refs()), "object"), text)
			if took = took.Round(time.Second); took > 0 {
				title += " after " + took.String()
			}
		default:
			title += fmt.Sprintf("; %d %s", n, text)
		}
	}
	return title
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// lines returns the block about one object.
func (w *FailureSummary) lines(s shortfall, i int) []string {
	step, acted, settled := &w.state.Plan.Steps[i], w.events[i].acted, w.events[i].settled
	text := "- " + step.Ref.String() + " " + shortfallTexts[s][0]
	switch s {
	case notRecreated: // the error says that
		return []string{"- " + step.Ref.String() + " was " + w.failure(step, acted.Err)}
	case notApplied, notDeleted:
		return []string{text + ": " + w.failure(step, acted.Err)}
	case skipped, kept:
		if reason := SkipReason(w.state, acted); reason != "" {
			text += ": " + reason
		}
		return []string{text + sourceLine(step.Source)}
	}
	switch {
	case settled.Err != nil:
		text += ": " + settled.Err.Error()
	case settled.Status.Message != "":
		text += ": " + settled.Status.Message
	}
	settled.Causes = w.causes[i]
	lines := append([]string{text + sourceLine(step.Source)}, Causes(settled)...)
	if settled.Status.State == ready.NotFound {
		return append(lines, "    next: apply again")
	}
	return append(lines, "    next: "+NextCommand(step.Ref, settled.Causes, w.flags...))
}

// sourceLine returns the file and line of a source in brackets, empty for none.
func sourceLine(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}

// NextCommand returns the command that shows more about an object and the causes why it is not
// ready. The flags are those of kubectl for the cluster.
func NextCommand(ref object.Ref, causes []ready.Cause, flags ...string) string {
	command := nextCommand(ref, causes)
	for _, flag := range flags {
		command += " " + plaintext.ShellWord(flag)
	}
	return command
}

func nextCommand(ref object.Ref, causes []ready.Cause) string {
	for _, c := range causes {
		if c.Replace {
			return kubectl(c.Object) + " delete " + strings.Replace(c.Object.Short(), "/", " ", 1)
		}
	}
	causes = slices.DeleteFunc(slices.Clone(causes), func(c ready.Cause) bool { return c.Gone })
	for _, c := range causes {
		if c.Container != "" {
			command := kubectl(c.Object) + " logs " + c.Object.Name + " -c " + c.Container
			if c.Previous {
				command += " --previous"
			}
			return command
		}
	}
	if len(causes) > 0 && causes[0].Object.Name != "" {
		ref = causes[0].Object
	}
	return kubectl(ref) + " describe " + ref.Short()
}

// kubectl returns the begin of a command about an object.
func kubectl(ref object.Ref) string {
	return strings.TrimSuffix("kubectl -n "+ref.Namespace, " -n ")
}

// printLine prints a line. Who reads it may have gone; the run does not depend on it.
func printLine(out io.Writer, line string) {
	fmt.Fprintln(out, plaintext.Message(line))
}
