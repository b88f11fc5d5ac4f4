package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// liveLines prints a run as kpt live does.
func liveLines(out io.Writer, p *plan.Plan, t view.PhaseOptions, reason reasonFunc) view.Printer {
	return view.Phases(p, t, func(b *view.RunState, m view.PhaseEvent) error {
		line := liveLine(b, m, reason)
		if line == "" {
			return nil
		}
		_, err := fmt.Fprintln(out, view.Printable(line))
		return err
	})
}

func liveLine(b *view.RunState, m view.PhaseEvent, because reasonFunc) string {
	switch m.Mark {
	case view.Started, view.Finished:
		word := action(b, m.Phase) + " phase"
		if m.Phase == view.Recording {
			word = "inventory update"
		}
		return word + " " + string(m.Mark)
	case view.Acted, view.Awaited:
		line := fmt.Sprintf(
			"%s %s %s", m.Event.Ref.Short(), action(b, m.Phase), strings.ToLower(liveOutcome(b, m)),
		)
		if reason := because(b, m); reason != "" {
			line += ": " + reason
		}
		return line
	case view.StatusSeen:
		return fmt.Sprintf(
			"%s is %s: %s", m.Event.Ref.Short(), m.Event.Status.State, m.Event.Status.Message,
		)
	case view.Summarized:
		c := countOf(b, m.Phase)
		line := fmt.Sprintf("%s result: %d attempted, %d successful, %d skipped, %d failed",
			action(b, m.Phase), c.attempted(), c.successful, c.skipped, c.failed)
		if m.Phase == view.Waiting {
			line += fmt.Sprintf(", %d timed out", c.timedOut)
		}
		return line
	default:
		return ""
	}
}

// action returns the word for the action of a phase.
func action(b *view.RunState, phase view.Phase) string {
	switch {
	case phase == view.Applying:
		return "apply"
	case phase == view.Waiting:
		return "reconcile"
	case b.Plan.Destroys:
		return "delete"
	default:
		return "prune"
	}
}

// liveOutcome returns the word for the outcome of a write or a wait.
func liveOutcome(b *view.RunState, m view.PhaseEvent) string {
	switch {
	case m.Event.Kind == event.Waiting:
		return "Pending"
	case m.Event.Outcome == event.Interrupted:
		return "Interrupted"
	case m.Mark == view.Awaited && b.Rows[m.Event.Step].Acted != event.Succeeded:
		return "Skipped"
	}
	switch m.Event.Outcome {
	case event.Succeeded:
		return "Successful"
	case event.Skipped:
		return "Skipped"
	case event.TimedOut:
		return "Timeout"
	default:
		return "Failed"
	}
}

// liveReasons returns a function that formats why a write failed or was skipped. Waits have no
// reason.
func liveReasons(adoption plan.Adoption) reasonFunc {
	return func(b *view.RunState, m view.PhaseEvent) string {
		e, step := m.Event, b.Plan.Steps[m.Event.Step]
		switch {
		case m.Mark != view.Acted:
			return ""
		case e.Outcome == event.Failed:
			return liveFailure(b.Plan, e)
		case e.Outcome != event.Skipped:
			return ""
		case step.ReasonCode == plan.ReasonForeign || step.ReasonCode == plan.ReasonUnowned:
			return policyText(step, adoption)
		case step.ReasonCode == plan.ReasonSameObject && step.Op == plan.Orphan:
			return fmt.Sprintf("object just applied (UID: %q)", step.Have.GetUID())
		case e.Reason != "" || e.Blocker == nil:
			return e.Reason
		case e.RunEnded:
			return packages.SkipReason(b, e)
		default:
			return blockerText(b, e)
		}
	}
}

// blockerText formats which object prevented a write, and why.
func blockerText(b *view.RunState, e event.Event) string {
	blocker, row := b.Plan.Steps[*e.Blocker], b.Rows[*e.Blocker]
	word, strategy := "dependency", "apply"
	if e.Op.Removes() {
		word = "dependent"
	}
	if blocker.Op.Removes() {
		strategy = "delete"
	}
	what := "actuation failed"
	switch {
	case row.Acted == event.Skipped:
		what = "actuation skipped"
	case row.Acted == event.Succeeded && row.Settled == event.TimedOut:
		what = "reconcile timeout"
	case row.Acted == event.Succeeded:
		what = "reconcile failed"
	}
	return fmt.Sprintf("%s %s %s: %s", word, strategy, what, idOf(blocker.Ref))
}

// liveFailure formats the error of a write. For client-side applies it names the file.
func liveFailure(p *plan.Plan, e event.Event) string {
	if incomplete := (*mutation.Error)(nil); errors.As(e.Err, &incomplete) {
		return fmt.Sprintf(
			"failed to mutate %q with \"ApplyTimeMutator\": %s", idOf(e.Ref), incomplete.Err,
		)
	}
	text := strings.TrimSpace(liveConflict(e.Err))
	step := p.Steps[e.Step]
	file, _, _ := strings.Cut(step.Source, ": document ")
	switch {
	case p.ServerSide || file == "" || e.Op.Removes():
		return text
	case e.Op == plan.Create:
		return fmt.Sprintf("error when creating %q: %s", file, text)
	default:
		return fmt.Sprintf("error when applying patch for: %q: %s", file, text)
	}
}

// idOf formats a reference for messages about relations and invalid objects.
func idOf(ref object.Ref) string {
	name := ref.Name
	if ref.Group == "rbac.authorization.k8s.io" {
		name = strings.ReplaceAll(name, ":", "__")
	}
	return strings.Join([]string{ref.Namespace, name, ref.Group, ref.Kind}, "_")
}

// pathOf formats a reference for messages about dependencies.
func pathOf(ref object.Ref) string {
	if ref.Namespace == "" {
		return strings.Join([]string{ref.Group, ref.Kind, ref.Name}, "/")
	}
	return strings.Join([]string{ref.Group, "namespaces", ref.Namespace, ref.Kind, ref.Name}, "/")
}

// counts are the totals of one action so far.
type counts struct{ successful, skipped, failed, timedOut int }

func (c counts) attempted() int { return c.successful + c.skipped + c.failed + c.timedOut }

func countOf(b *view.RunState, phase view.Phase) counts {
	part := b.Applies
	switch phase {
	case view.Waiting:
		return counts{
			successful: b.Waits.Succeeded,
			skipped:    b.Waits.Skipped,
			failed:     b.Waits.Failed,
			timedOut:   b.Waits.TimedOut,
		}
	case view.Removing:
		part = b.Removes
	}
	return counts{
		successful: part.Acted - part.Skipped - part.Failed,
		skipped:    part.Skipped,
		failed:     part.Failed,
	}
}

// livePolicies are the names of the degrees of adoption in messages.
var livePolicies = map[plan.Adoption]string{
	plan.AdoptNone:    "MustMatch",
	plan.AdoptUnowned: "AdoptIfNoInventory",
	plan.AdoptAll:     "AdoptAll",
}

// policyText formats why an object that is not owned is left alone.
func policyText(step plan.Step, adoption plan.Adoption) string {
	strategy, status := "Apply", "NoMatch"
	if step.Op.Removes() {
		strategy = "Delete"
	}
	if step.ReasonCode == plan.ReasonUnowned {
		status = "Empty"
	}
	return fmt.Sprintf("inventory policy prevented actuation (strategy: %s, status: %s, policy: %s)",
		strategy, status, livePolicies[adoption])
}
