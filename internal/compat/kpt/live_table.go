package kpt

import (
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// columns returns the columns of a table for the run of a plan. now is the clock.
type columns = func(p *plan.Plan, now func() time.Time) []view.Column

// liveTable returns the columns of kpt live. It never shows the outcome of waits, nor actions when
// everything is deleted.
func liveTable(p *plan.Plan, now func() time.Time) []view.Column {
	action := liveActionCell
	if p.Destroys {
		action = view.EmptyCell
	}
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: view.NamespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: view.ResourceCell},
		{Title: "ACTION", Width: 12, Cell: action},
		{Title: "STATUS", Width: 10, Cell: view.StateCell},
		{Title: "RECONCILED", Width: 10, Cell: view.EmptyCell},
		{Title: "CONDITIONS", Width: 40, Cell: conditionsCell},
		{Title: "AGE", Width: 6, Cell: view.AgeCell(now)},
		{Title: "MESSAGE", Width: 40, Cell: view.MessageCell},
	}
}

// liveStatusTable returns the columns of kpt live status.
func liveStatusTable(members *operation.StatusTargets, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: view.NamespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: view.ResourceCell},
		{Title: "STATUS", Width: 10, Cell: view.StateCell},
		{Title: "CONDITIONS", Width: 40, Cell: conditionsCell},
		{Title: "AGE", Width: 6, Cell: view.AgeCell(now)},
		{Title: "MESSAGE", Width: 40, Cell: view.MessageCell},
		{
			Title: "INVENTORY_NAME",
			Width: 30,
			Cell: func(m view.TableRow) []view.Span {
				return view.TextCell(inventoryNames(members, m.Owner))
			},
		},
	}
}

// progressTable returns the columns of kpt alpha live.
func progressTable(_ *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: view.NamespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: view.ResourceCell},
		{Title: "PROGRESS", Width: 80, Cell: progressCell(now)},
	}
}

// liveActionCell returns the outcome of the write unless it failed; the message column shows
// failures.
func liveActionCell(m view.TableRow) []view.Span {
	switch {
	case m.Step == nil:
		return nil
	case m.Acted == nil:
		return view.TextCell("Pending")
	case m.Acted.Outcome == event.Succeeded:
		return view.TextCell("Successful")
	case m.Acted.Outcome == event.Skipped:
		return view.TextCell("Skipped")
	default:
		return nil
	}
}

// conditionsCell lists the conditions, coloured by their values.
func conditionsCell(m view.TableRow) []view.Span {
	if m.Facts == nil {
		return view.TextCell("-")
	}
	if len(m.Facts.Conditions) == 0 {
		return view.TextCell("<None>")
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
			return view.TextCell(names[0])
		case m.Acted.Outcome == event.Skipped:
			return append(view.TextCell(names[2]), errorSpans(m)...)
		case m.Acted.Outcome == event.Failed:
			return append(view.TextCell(names[3]), errorSpans(m)...)
		case m.Step.Op.Removes():
			return view.TextCell(names[1])
		default:
			return statusProgress(m, now)
		}
	}
}

func errorSpans(m view.TableRow) []view.Span {
	if m.Reason == "" {
		return nil
	}
	return view.TextCell(" error:" + m.Reason)
}

// statusProgress returns the status of an applied object, with its conditions unless it is current.
func statusProgress(m view.TableRow, now func() time.Time) []view.Span {
	cell := view.StateCell(m)
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
				cell = append(cell, view.Span{Text: " " + view.Age(now().Sub(m.Facts.Created))})
			}
		}
	}
	if m.Status.Message != "" {
		cell = append(cell, view.Span{Text: " message:" + m.Status.Message})
	}
	return cell
}
