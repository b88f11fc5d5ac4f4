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

// columns makes the columns of a table for the run of a plan, told what the time is.
type columns func(p *plan.Plan, now func() time.Time) []view.Column

// plainTable are the columns of the native commands: each as wide as it has to be.
func plainTable(p *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Cell: namespaceCell},
		{Title: "RESOURCE", Cell: resourceCell},
		{Title: "ACTION", Cell: plainAction(p)},
		{Title: "STATUS", Cell: stateCell},
		{Title: "RECONCILED", Cell: reconciledCell},
		{Title: "AGE", Cell: ageCell(now)},
		{Title: "MESSAGE", Cell: messageCell},
	}
}

// liveTable are the columns of kpt live. What waiting came to is never shown, nor what is done where everything is deleted.
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

// liveStatusTable are the columns of kpt live status.
func liveStatusTable(members *packages.StatusTargets, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: namespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: resourceCell},
		{Title: "STATUS", Width: 10, Cell: stateCell},
		{Title: "CONDITIONS", Width: 40, Cell: conditionsCell},
		{Title: "AGE", Width: 6, Cell: ageCell(now)},
		{Title: "MESSAGE", Width: 40, Cell: messageCell},
		{Title: "INVENTORY_NAME", Width: 30, Cell: func(m view.TableRow) []view.Span { return words(inventoryNames(members, m.Owner)) }},
	}
}

// progressTable are the columns of kpt alpha live.
func progressTable(_ *plan.Plan, now func() time.Time) []view.Column {
	return []view.Column{
		{Title: "NAMESPACE", Width: 10, Cell: namespaceCell},
		{Title: "RESOURCE", Width: 40, Cell: resourceCell},
		{Title: "PROGRESS", Width: 80, Cell: progressCell(now)},
	}
}

// words is a cell of unpainted text.
func words(text string) []view.Span { return []view.Span{{Text: text}} }

func emptyCell(view.TableRow) []view.Span { return nil }

func namespaceCell(m view.TableRow) []view.Span { return words(m.Ref.Namespace) }

func resourceCell(m view.TableRow) []view.Span {
	return words(m.TreePrefix + m.Ref.Kind + "/" + m.Ref.Name)
}

func stateCell(m view.TableRow) []view.Span {
	state := m.Status.State
	if state == "" {
		state = ready.Unknown
	}
	return []view.Span{{Text: string(state), Colour: view.ColourOf(state)}}
}

// liveActionCell says how the write went, unless it failed: then the message does.
func liveActionCell(m view.TableRow) []view.Span {
	switch {
	case m.Step == nil:
		return nil
	case m.Acted == nil:
		return words("Pending")
	case m.Acted.Outcome == event.Succeeded:
		return words("Successful")
	case m.Acted.Outcome == event.Skipped:
		return words("Skipped")
	default:
		return nil
	}
}

// plainAction is what was done, in the words of the lines.
func plainAction(p *plan.Plan) func(view.TableRow) []view.Span {
	done := map[plan.Op]string{
		plan.Create: "created", plan.Update: "configured", plan.Unchanged: "unchanged", plan.Delete: "pruned",
	}
	if p.Destroys {
		done[plan.Delete] = "deleted"
	}
	return func(m view.TableRow) []view.Span {
		switch {
		case m.Step == nil:
			return nil
		case m.Acted == nil:
			return words("pending")
		case m.Acted.Outcome == event.Succeeded:
			return words(done[m.Acted.Op])
		default:
			return []view.Span{{Text: string(m.Acted.Outcome), Colour: paintOf(m.Acted.Outcome)}}
		}
	}
}

// plainProblem is what is said in full below a table that has no room for it: why something went wrong with an object.
func plainProblem(m view.TableRow) string {
	switch {
	case m.Reason != "":
		return m.Ref.Short() + ": " + m.Reason
	case m.Settled != nil && m.Settled.Outcome.IsFailure() && m.Status.Message != "":
		return m.Ref.Short() + ": " + m.Status.Message
	default:
		return ""
	}
}

// reconciledCell is what became of the wait.
func reconciledCell(m view.TableRow) []view.Span {
	switch {
	case m.Acted == nil || m.Acted.Outcome != event.Succeeded:
		return nil
	case m.Settled == nil && m.Waiting:
		return words("pending")
	case m.Settled == nil:
		return nil
	default:
		return []view.Span{{Text: string(m.Settled.Outcome), Colour: paintOf(m.Settled.Outcome)}}
	}
}

func paintOf(outcome event.Outcome) view.Colour {
	if outcome.IsFailure() {
		return view.Red
	}
	return ""
}

// conditionsCell names the conditions, in the colours of their values.
func conditionsCell(m view.TableRow) []view.Span {
	if m.Facts == nil {
		return words("-")
	}
	if len(m.Facts.Conditions) == 0 {
		return words("<None>")
	}
	var cell []view.Span
	for i, c := range m.Facts.Conditions {
		if i > 0 {
			cell = append(cell, view.Span{Text: ","})
		}
		cell = append(cell, view.Span{Text: c.Type, Colour: conditionPaint(c)})
	}
	return cell
}

func conditionPaint(c ready.Condition) view.Colour {
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
			return words("-")
		}
		return words(age(now().Sub(m.Facts.Created)))
	}
}

// age is a time in its largest fitting unit.
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

// messageCell is why something went wrong, else the message of the status.
func messageCell(m view.TableRow) []view.Span {
	if m.Reason != "" {
		return words(m.Reason)
	}
	return words(m.Status.Message)
}

// progressCell tells in one cell how far an object is.
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
			return words(names[0])
		case m.Acted.Outcome == event.Skipped:
			return append(words(names[2]), errorSpans(m)...)
		case m.Acted.Outcome == event.Failed:
			return append(words(names[3]), errorSpans(m)...)
		case m.Step.Op.Removes():
			return words(names[1])
		default:
			return statusProgress(m, now)
		}
	}
}

func errorSpans(m view.TableRow) []view.Span {
	if m.Reason == "" {
		return nil
	}
	return words(" error:" + m.Reason)
}

// statusProgress is the status of an object that was applied and, unless it is current, what its conditions say.
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
			cell = append(cell, view.Span{Text: c.Reason, Colour: conditionPaint(c)})
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
