package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// columns returns the columns of a table for the run of a plan. now is the clock.
type columns func(p *plan.Plan, now func() time.Time) []view.Column

// nativeTable returns the columns of the native commands. Their widths fit the content.
func nativeTable(p *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Cell: namespaceCell},
		{Title: "RESOURCE", Cell: resourceCell},
		{Title: "ACTION", Cell: nativeActionCell(p)},
		{Title: "STATUS", Cell: stateCell},
		{Title: "RECONCILED", Cell: reconciledCell},
		{Title: "AGE", Cell: ageCell(now)},
		{Title: "MESSAGE", Cell: messageCell},
	}
}

// liveTable returns the columns of kpt live. It never shows the outcome of waits, nor actions when
// everything is deleted.
func liveTable(p *plan.Plan, now func() time.Time) []view.Column {
	action := liveActionCell
	if p.Destroys {
		action = emptyCell
	}
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: namespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: resourceCell},
		{Title: "ACTION", Width: 12, Cell: action},
		{Title: "STATUS", Width: 10, Cell: stateCell},
		{Title: "RECONCILED", Width: 10, Cell: emptyCell},
		{Title: "CONDITIONS", Width: 40, Cell: conditionsCell},
		{Title: "AGE", Width: 6, Cell: ageCell(now)},
		{Title: "MESSAGE", Width: 40, Cell: messageCell},
	}
}

// liveStatusTable returns the columns of kpt live status.
func liveStatusTable(members *packages.StatusTargets, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: namespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: resourceCell},
		{Title: "STATUS", Width: 10, Cell: stateCell},
		{Title: "CONDITIONS", Width: 40, Cell: conditionsCell},
		{Title: "AGE", Width: 6, Cell: ageCell(now)},
		{Title: "MESSAGE", Width: 40, Cell: messageCell},
		{
			Title: "INVENTORY_NAME",
			Width: 30,
			Cell:  func(m view.TableRow) []view.Span { return textCell(inventoryNames(members, m.Owner)) },
		},
	}
}

// progressTable returns the columns of kpt alpha live.
func progressTable(_ *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: namespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: resourceCell},
		{Title: "PROGRESS", Width: 80, Cell: progressCell(now)},
	}
}

// textCell returns a cell without colour.
func textCell(text string) []view.Span { return []view.Span{{Text: text}} }

func emptyCell(view.TableRow) []view.Span { return nil }

func namespaceCell(m view.TableRow) []view.Span { return textCell(m.Ref.Namespace) }

func resourceCell(m view.TableRow) []view.Span {
	return textCell(m.TreePrefix + m.Ref.Kind + "/" + m.Ref.Name)
}

func stateCell(m view.TableRow) []view.Span {
	state := m.Status.State
	if state == "" {
		state = ready.Unknown
	}
	return []view.Span{{Text: string(state), Colour: view.ColourOf(state)}}
}

// liveActionCell returns the outcome of the write unless it failed; the message column shows
// failures.
func liveActionCell(m view.TableRow) []view.Span {
	switch {
	case m.Step == nil:
		return nil
	case m.Acted == nil:
		return textCell("Pending")
	case m.Acted.Outcome == event.Succeeded:
		return textCell("Successful")
	case m.Acted.Outcome == event.Skipped:
		return textCell("Skipped")
	default:
		return nil
	}
}

// nativeActionCell returns the operation on the object, in the words of the lines.
func nativeActionCell(p *plan.Plan) func(view.TableRow) []view.Span {
	done := map[plan.Op]string{
		plan.Create: "created", plan.Update: "configured", plan.Unchanged: "unchanged",
		plan.Delete: "pruned",
	}
	if p.Destroys {
		done[plan.Delete] = "deleted"
	}
	return func(m view.TableRow) []view.Span {
		switch {
		case m.Step == nil:
			return nil
		case m.Acted == nil:
			return textCell("pending")
		case m.Acted.Outcome == event.Succeeded:
			return textCell(done[m.Acted.Op])
		default:
			return []view.Span{{Text: string(m.Acted.Outcome), Colour: outcomeColour(m.Acted.Outcome)}}
		}
	}
}

// nativeRowDetails returns the failure of an object, printed in full below a table that truncates
// it.
func nativeRowDetails(m view.TableRow) string {
	switch {
	case m.Reason != "":
		return m.Ref.Short() + ": " + m.Reason
	case m.Settled != nil && m.Settled.Outcome.IsFailure() && m.Status.Message != "":
		return m.Ref.Short() + ": " + m.Status.Message
	default:
		return ""
	}
}

// reconciledCell returns the outcome of the wait.
func reconciledCell(m view.TableRow) []view.Span {
	switch {
	case m.Acted == nil || m.Acted.Outcome != event.Succeeded:
		return nil
	case m.Settled == nil && m.Waiting:
		return textCell("pending")
	case m.Settled == nil:
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

// conditionsCell lists the conditions, coloured by their values.
func conditionsCell(m view.TableRow) []view.Span {
	if m.Facts == nil {
		return textCell("-")
	}
	if len(m.Facts.Conditions) == 0 {
		return textCell("<None>")
	}
	var cell []view.Span
	for i, c := range m.Facts.Conditions {
		if i > 0 {
			cell = append(cell, view.Span{Text: ","})
		}
		cell = append(cell, view.Span{Text: c.Type, Colour: conditionColour(c)})
	}
	return cell
}

func conditionColour(c ready.Condition) view.Colour {
	switch c.Status {
	case "True":
		return view.Green
	case "False":
		return view.Red
	default:
		return view.Yellow
	}
}

func ageCell(now func() time.Time) func(view.TableRow) []view.Span {
	return func(m view.TableRow) []view.Span {
		if m.Facts == nil || m.Facts.Created.IsZero() {
			return textCell("-")
		}
		return textCell(age(now().Sub(m.Facts.Created)))
	}
}

// age formats a duration in one unit.
func age(d time.Duration) string {
	switch {
	case d <= 90*time.Second:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d <= 90*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
}

// messageCell returns the reason of a failure, or else the message of the status.
func messageCell(m view.TableRow) []view.Span {
	if m.Reason != "" {
		return textCell(m.Reason)
	}
	return textCell(m.Status.Message)
}

// progressCell returns the progress of an object.
func progressCell(now func() time.Time) func(view.TableRow) []view.Span {
	return func(m view.TableRow) []view.Span {
		if m.Step == nil {
			return statusProgress(m, now)
		}
		names := [4]string{"PendingApply", "", "SkippedApply", "ApplyFailed"}
		if m.Step.Op.Removes() {
			names = [4]string{"PendingDeletion", "Deleted", "DeletionSkipped", "DeletionFailed"}
		}
		switch {
		case m.Acted == nil:
			return textCell(names[0])
		case m.Acted.Outcome == event.Skipped:
			return append(textCell(names[2]), errorSpans(m)...)
		case m.Acted.Outcome == event.Failed:
			return append(textCell(names[3]), errorSpans(m)...)
		case m.Step.Op.Removes():
			return textCell(names[1])
		default:
			return statusProgress(m, now)
		}
	}
}

func errorSpans(m view.TableRow) []view.Span {
	if m.Reason == "" {
		return nil
	}
	return textCell(" error:" + m.Reason)
}

// statusProgress returns the status of an applied object, with its conditions unless it is current.
func statusProgress(m view.TableRow, now func() time.Time) []view.Span {
	cell := stateCell(m)
	if m.Status.State == ready.Current {
		return cell
	}
	if m.Facts != nil && len(m.Facts.Conditions) > 0 {
		cell = append(cell, view.Span{Text: " Conditions:"})
		for i, c := range m.Facts.Conditions {
			if i > 0 {
				cell = append(cell, view.Span{Text: ","})
			}
			cell = append(cell, view.Span{Text: c.Reason, Colour: conditionColour(c)})
			if c.Status != "True" {
				cell = append(cell, view.Span{Text: " " + strings.TrimSpace(age(now().Sub(m.Facts.Created)))})
			}
		}
	}
	if m.Status.Message != "" {
		cell = append(cell, view.Span{Text: " message:" + m.Status.Message})
	}
	return cell
}
