package run

import (
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// runTable returns the columns of the table of a run. Their widths fit the content.
func runTable(p *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Cell: view.NamespaceCell},
		{Title: "RESOURCE", Cell: view.ResourceCell},
		{Title: "ACTION", Cell: actionCell(p)},
		{Title: "STATUS", Cell: view.StateCell},
		{Title: "RECONCILED", Cell: reconciledCell},
		{Title: "AGE", Cell: view.AgeCell(now)},
		{Title: "MESSAGE", Cell: view.MessageCell},
	}
}

// actionCell returns the operation on the object, in the words of the lines.
func actionCell(p *plan.Plan) func(view.TableRow) []view.Span {
	done := map[plan.Op]string{
		plan.Create: "created", plan.Update: "configured", plan.Unchanged: "unchanged",
		plan.Delete: "pruned", plan.AwaitCreated: "found",
	}
	if p.Destroys {
		done[plan.Delete] = "deleted"
	}
	return func(m view.TableRow) []view.Span {
		switch {
		case m.Step == nil:
			return nil
		case m.Acted == nil:
			return view.TextCell("pending")
		case m.Acted.Outcome == event.Succeeded:
			return view.TextCell(done[m.Acted.Op])
		default:
			return []view.Span{{Text: string(m.Acted.Outcome), Colour: outcomeColour(m.Acted.Outcome)}}
		}
	}
}

// rowDetails returns the failure of an object, printed in full below a table that truncates
// it.
func rowDetails(m view.TableRow) string {
	switch {
	case m.Reason != "":
		return m.Ref.Short() + ": " + m.Reason
	case m.Settled != nil && m.Settled.Outcome.IsFailure() && m.Status.Message != "":
		return m.Ref.Short() + ": " + m.Status.Message
	default:
		return ""
	}
}

// reconciledCell returns the outcome of the wait; nothing if nothing waited.
func reconciledCell(m view.TableRow) []view.Span {
	switch {
	case m.Acted == nil || m.Acted.Outcome != event.Succeeded:
		return nil
	case m.Settled == nil && m.Waiting:
		return view.TextCell("pending")
	case m.Settled == nil, m.Settled.Outcome == event.Succeeded && !m.Step.Wait:
		return nil
	default:
		return []view.Span{{Text: string(m.Settled.Outcome), Colour: outcomeColour(m.Settled.Outcome)}}
	}
}

func outcomeColour(outcome event.Outcome) view.Colour {
	if outcome.IsFailure() {
		return view.Red
	}
	return ""
}
