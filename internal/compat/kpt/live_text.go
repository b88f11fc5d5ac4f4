package kpt

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// liveLines prints a run as kpt live does.
func liveLines(
	out io.Writer, p *plan.Plan, t view.PhaseOptions, reason view.ReasonFunc,
) view.Printer {
	return view.Phases(p, t, func(b *view.RunState, m view.PhaseEvent) error {
		line := liveLine(b, m, reason)
		if line == "" {
			return nil
		}
		_, err := fmt.Fprintln(out, plaintext.Printable(line))
		return err
	})
}

func liveLine(b *view.RunState, m view.PhaseEvent, because view.ReasonFunc) string {
	switch m.Mark {
	case view.Started, view.Finished:
		word := b.Action(m.Phase) + " phase"
		if m.Phase == view.Recording {
			word = "inventory update"
		}
		return word + " " + string(m.Mark)
	case view.Acted, view.Awaited:
		line := fmt.Sprintf(
			"%s %s %s", m.Event.Ref.Short(), b.Action(m.Phase), strings.ToLower(m.OutcomeWord(b)),
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
		c := b.Counts(m.Phase)
		line := fmt.Sprintf("%s result: %d attempted, %d successful, %d skipped, %d failed",
			b.Action(m.Phase), c.Attempted(), c.Successful, c.Skipped, c.Failed)
		if m.Phase == view.Waiting {
			line += fmt.Sprintf(", %d timed out", c.TimedOut)
		}
		return line
	default:
		return ""
	}
}

// liveReasons returns a function that formats why a write failed or was skipped. Waits have no
// reason.
func liveReasons(adoption plan.Adoption) view.ReasonFunc {
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
			return view.SkipReason(b, e)
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
	if p.IsTooLarge(&step) && isTooLong(e.Err) {
		text += "; the manifest is too large to be stored in an annotation: --server-side stores none"
	}
	file := manifest.FileOf(step.Source)
	switch {
	case step.ServerSide || file == "" || e.Op.Removes():
		return text
	case e.Op == plan.Create:
		return fmt.Sprintf("error when creating %q: %s", file, text)
	default:
		return fmt.Sprintf("error when applying patch for: %q: %s", file, text)
	}
}

// isTooLong reports whether the server refused the annotations of an object as too long.
func isTooLong(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeTooLong && c.Field == "metadata.annotations"
	})
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

// advice is the text of kpt below a conflict.
const advice = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the ` + "`--force-conflicts`" + ` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`

// liveConflict returns the text of an error as kpt prints it, with its advice if fields conflict.
func liveConflict(err error) string {
	if len(diff.Conflicts(err)) > 0 || errors.As(err, new(*plan.ObstacleError)) {
		return err.Error() + "\n" + advice
	}
	return err.Error()
}
