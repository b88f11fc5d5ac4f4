package run

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// wording formats the output of native commands: a line for each event of an object, and a total
// for each part of the run.
type wording struct {
	removed     string // the past participle for deletions
	onlyDeletes bool   // the run applies nothing
	dryRun      bool   // nothing is written
	waits       bool   // the run waits
	unchanged   bool   // unchanged objects are listed
	statuses    bool   // every new status is printed
}

func (w wording) formatter() view.Formatter {
	return view.Formatter{
		Event:   w.lines,
		Notice:  cli.UnreachableLine,
		Omitted: omittedLine,
		Totals:  w.totals,
	}
}

// omittedLine reports objects that were not explained.
func omittedLine(objects int) string {
	return fmt.Sprintf("... and %d more object(s) that are not ready", objects)
}

// mark returns a line, marked if nothing was done. Of a text of several lines it marks the first.
func (w wording) mark(line string) string {
	if !w.dryRun {
		return line
	}
	first, more, several := strings.Cut(line, "\n")
	if several {
		more = "\n" + more
	}
	return first + " (dry run)" + more
}

// hides reports whether an event says no more than that an object is unchanged and ready.
func (w wording) hides(b *view.RunState, e event.Event) bool {
	row := b.Rows[e.Step]
	left := row.Op == plan.Unchanged ||
		row.Op == plan.AwaitCreated && b.Plan.Steps[e.Step].Have != nil
	if w.unchanged || !left || row.Acted != event.Succeeded || e.Reason != "" {
		return false
	}
	if len(view.Contests(&b.Plan.Steps[e.Step], true)) > 0 {
		return false
	}
	return e.Kind == event.Acted ||
		e.Kind == event.Settled && e.Outcome == event.Succeeded && !row.Waited
}

// lines returns the lines for an event, after one for its status if statuses are printed.
func (w wording) lines(b *view.RunState, e event.Event) []string {
	var lines []string
	if !w.hides(b, e) {
		lines = w.eventLines(b, e)
	}
	if s := e.Status; w.statuses && s.State != "" && s.State != ready.Unknown {
		lines = append([]string{fmt.Sprintf("%s is %s: %s", e.Ref.Short(), s.State, s.Message)}, lines...)
	}
	return lines
}

func (w wording) eventLines(b *view.RunState, e event.Event) []string {
	switch e.Kind {
	case event.Acted:
		lines := []string{w.mark(e.Ref.Short() + " " + w.actedText(b, e))}
		if e.Outcome == event.Succeeded {
			for _, line := range view.Contests(&b.Plan.Steps[e.Step], e.Op != plan.Update) {
				lines = append(lines, "    "+line)
			}
		}
		return lines
	case event.Retried:
		if e.Status.State == ready.Terminating || e.NotRecreated { // else it is sent again soon
			return []string{e.Ref.Short() + " create pending: " + indented(e.Err)}
		}
		if e.Awaits != nil {
			return []string{e.Ref.Short() + " is tried again until " + e.Awaits.Short() +
				" is ready, which serves a webhook for it: " + indented(e.Err)}
		}
	case event.Waiting:
		if e.Relapsed {
			return []string{e.Ref.Short() + " is not ready any more: " + e.Status.Message}
		}
		return []string{e.Ref.Short() + " reconcile pending" + deletionWarning(e)}
	case event.Explained:
		return append([]string{e.Ref.Short() + " is not " + view.Goal(e.Op) + ":"}, view.Causes(e)...)
	case event.Settled:
		if line := w.settledText(b, e); line != "" {
			return []string{e.Ref.Short() + " " + line}
		}
	}
	return nil
}

// deletionWarning warns about waiting for an object that is being deleted.
func deletionWarning(e event.Event) string {
	if e.Op == plan.Delete || e.Status.State != ready.Terminating {
		return ""
	}
	return ": it is being deleted"
}

// actedText returns the outcome of a write.
func (w wording) actedText(b *view.RunState, e event.Event) string {
	step := b.Plan.Steps[e.Step]
	switch e.Outcome {
	case event.Failed:
		return "failed: " + failureText(&step, e.Err, b.Plan.ServerSide)
	case event.Skipped:
		return "skipped: " + view.SkipReason(b, e)
	}
	word := w.pastTense(&step, e.Op)
	if e.Reason != "" {
		word += " (" + e.Reason + ")"
	}
	return word
}

// pastTense returns the word for a successful write.
func (w wording) pastTense(step *plan.Step, op plan.Op) string {
	switch {
	case op == plan.Unchanged:
		return "unchanged"
	case op == plan.AwaitCreated:
		return "found"
	case op == plan.Delete || op == plan.AwaitDeleted:
		return w.removed
	case step.AppliesServerSide(op):
		return "serverside-applied"
	case op == plan.Create:
		return "created"
	default:
		return "configured"
	}
}

// settledText returns the outcome of a wait; empty if nothing waited.
func (w wording) settledText(b *view.RunState, e event.Event) string {
	if !w.waits {
		return ""
	}
	if e.Outcome != event.Interrupted && b.Rows[e.Step].Acted != event.Succeeded {
		return "reconcile skipped"
	}
	switch e.Outcome {
	case event.Succeeded:
		if !b.Plan.Steps[e.Step].Wait {
			return ""
		}
		return "reconciled"
	case event.TimedOut:
		return "reconcile timeout" + waitFailure(e)
	case event.Failed:
		return "reconcile failed" + waitFailure(e)
	case event.Interrupted:
		if b.Rows[e.Step].Acted == "" && e.Err != nil {
			return "not begun: " + e.Err.Error()
		}
		if b.Rows[e.Step].Acted == "" {
			return "not begun: interrupted"
		}
		return "reconcile interrupted"
	default:
		return "reconcile skipped: the run ended early"
	}
}

// waitFailure returns why an object is not ready, if known.
func waitFailure(e event.Event) string {
	switch {
	case e.Err != nil:
		return ": " + indented(e.Err)
	case e.Status.Message != "":
		return ": " + e.Status.Message
	default:
		return ""
	}
}

// indented returns the text of an error with all lines but the first indented.
func indented(err error) string {
	if err == nil {
		return "unknown reason"
	}
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n    ")
}

func sourceSuffix(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}

// totals returns the totals of applied, deleted and awaited objects.
func (w wording) totals(b *view.RunState) []view.Total {
	var totals []view.Total
	applies, removes, waits := b.Applies, b.Removes, b.Waits
	merged := mergedByServer(b)
	if !w.onlyDeletes {
		line := fmt.Sprintf(
			"%d resource(s) applied. %d created, %d unchanged, %d configured, %d failed",
			applies.Acted-applies.Skipped, applies.Done[plan.Create]-merged[plan.Create],
			applies.Done[plan.Unchanged]+applies.Done[plan.AwaitCreated],
			applies.Done[plan.Update]-merged[plan.Update], applies.Failed,
		)
		if n := merged[plan.Create] + merged[plan.Update]; n > 0 || b.Plan.ServerSide {
			line += fmt.Sprintf(", %d serverside applied", n)
		}
		if applies.Skipped > 0 {
			line += fmt.Sprintf(", %d skipped", applies.Skipped)
		}
		totals = append(totals, view.Total{Complete: applies.Complete(), Line: w.mark(line)})
	}
	failed := "failed"
	if w.onlyDeletes {
		failed = "failed to delete"
	}
	line := fmt.Sprintf("%d resource(s) %s, %d skipped, %d %s",
		removes.Done[plan.Delete], w.removed, removes.Skipped, removes.Failed, failed)
	totals = append(totals, view.Total{Complete: removes.Complete(), Line: w.mark(line)})
	if w.waits {
		line := fmt.Sprintf("%d resource(s) reconciled, %d skipped, %d failed to reconcile, %d timed out",
			waits.Succeeded, waits.Skipped, waits.Failed, waits.TimedOut)
		if waits.Interrupted > 0 {
			line += fmt.Sprintf(", %d interrupted", waits.Interrupted)
		}
		totals = append(totals, view.Total{Line: line})
	}
	return totals
}

// mergedByServer returns the numbers of server-side applies by operation: their answers do not
// distinguish these.
func mergedByServer(b *view.RunState) map[plan.Op]int {
	counts := map[plan.Op]int{}
	for i, row := range b.Rows {
		if row.Acted == event.Succeeded && b.Plan.Steps[i].AppliesServerSide(row.Op) {
			counts[row.Op]++
		}
	}
	return counts
}
