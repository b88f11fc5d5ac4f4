package cmd

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// wording is what the native commands say: the plain words for each thing that happens to an object, and a total for each
// part of the run.
type wording struct {
	removed  string // the word for an object that was removed
	noApply  bool   // the run only removes: nothing is said of applying
	waits    bool   // the run waits, so waiting is told of
	serverly bool   // written by server-side apply
	statuses bool   // every new status is told
}

func (w wording) words() view.Formatter {
	return view.Formatter{Event: w.event, Notice: notice, Omitted: hidden, Totals: w.totals}
}

// notice says that the cluster cannot be seen, which is so for all objects.
func notice(e event.Event) string {
	if e.Kind != event.Observed || e.Err == nil {
		return ""
	}
	return "still trying: " + e.Err.Error()
}

// hidden says that not everything was explained.
func hidden(objects int) string {
	return fmt.Sprintf("... and %d more object(s) that are not ready", objects)
}

// event gives the lines for an event, behind that for its status if statuses are told.
func (w wording) event(b *view.RunState, e event.Event) []string {
	lines := w.progress(b, e)
	if s := e.Status; w.statuses && s.State != "" && s.State != ready.Unknown {
		lines = append([]string{fmt.Sprintf("%s is %s: %s", e.Ref.Short(), s.State, s.Message)}, lines...)
	}
	return lines
}

func (w wording) progress(b *view.RunState, e event.Event) []string {
	switch e.Kind {
	case event.Acted:
		return []string{e.Ref.Short() + " " + w.acted(b, e)}
	case event.Waiting:
		return []string{e.Ref.Short() + " reconcile pending" + leaving(e)}
	case event.Explained:
		return append([]string{e.Ref.Short() + " is not " + view.Goal(e.Op) + ":"}, view.Causes(e)...)
	case event.Settled:
		if line := w.settled(b, e); line != "" {
			return []string{e.Ref.Short() + " " + line}
		}
	}
	return nil
}

// leaving warns of an object that is waited for although somebody is deleting it.
func leaving(e event.Event) string {
	if e.Op == plan.Delete || e.Status.State != ready.Terminating {
		return ""
	}
	return ": it is being deleted"
}

// acted says how a write went.
func (w wording) acted(b *view.RunState, e event.Event) string {
	step := b.Plan.Steps[e.Step]
	switch e.Outcome {
	case event.Failed:
		return "failed: " + problem(&step, e.Err)
	case event.Skipped:
		return "skipped: " + packages.SkipReason(b, e)
	}
	word := w.done(e.Op)
	if e.Reason != "" {
		word += " (" + e.Reason + ")"
	}
	return word
}

// done is the word for a write that succeeded.
func (w wording) done(op plan.Op) string {
	switch {
	case op == plan.Unchanged:
		return "unchanged"
	case op == plan.Delete:
		return w.removed
	case w.serverly:
		return "serverside-applied"
	case op == plan.Create:
		return "created"
	default:
		return "configured"
	}
}

// settled says how the wait for an object ended.
func (w wording) settled(b *view.RunState, e event.Event) string {
	if !w.waits {
		return ""
	}
	if e.Outcome != event.Interrupted && b.Rows[e.Step].Acted != event.Succeeded {
		return "reconcile skipped"
	}
	switch e.Outcome {
	case event.Succeeded:
		return "reconciled"
	case event.TimedOut:
		return "reconcile timeout" + detail(e)
	case event.Failed:
		return "reconcile failed" + detail(e)
	case event.Interrupted:
		if b.Rows[e.Step].Acted == "" {
			return "not begun: interrupted"
		}
		return "reconcile interrupted"
	default:
		return "reconcile skipped: the run ended early"
	}
}

// detail is why an object is not ready, as far as it is known.
func detail(e event.Event) string {
	switch {
	case e.Err != nil:
		return ": " + because(e.Err)
	case e.Status.Message != "":
		return ": " + e.Status.Message
	default:
		return ""
	}
}

// because is the text of an error, further lines indented.
func because(err error) string {
	if err == nil {
		return "unknown reason"
	}
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n    ")
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}

// totals are the lines that count: what was applied, what was removed, what was waited for.
func (w wording) totals(b *view.RunState) []view.Total {
	var totals []view.Total
	applies, removes, waits := b.Applies, b.Removes, b.Waits
	if !w.noApply {
		line := fmt.Sprintf("%d resource(s) applied. %d created, %d unchanged, %d configured, %d failed",
			applies.Acted-applies.Skipped, w.count(applies, plan.Create), applies.Done[plan.Unchanged], w.count(applies, plan.Update), applies.Failed)
		if w.serverly {
			line += fmt.Sprintf(", %d serverside applied", applies.Done[plan.Create]+applies.Done[plan.Update])
		}
		if applies.Skipped > 0 {
			line += fmt.Sprintf(", %d skipped", applies.Skipped)
		}
		totals = append(totals, view.Total{Complete: applies.Complete(), Line: line})
	}
	failed := "failed"
	if w.noApply {
		failed = "failed to delete"
	}
	totals = append(totals, view.Total{Complete: removes.Complete(), Line: fmt.Sprintf("%d resource(s) %s, %d skipped, %d %s",
		removes.Done[plan.Delete], w.removed, removes.Skipped, removes.Failed, failed)})
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

// count is the number of writes of one sort; server-side apply does not tell them apart.
func (w wording) count(p view.WriteCounts, op plan.Op) int {
	if w.serverly {
		return 0
	}
	return p.Done[op]
}
