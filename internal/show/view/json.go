package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// JSONLines prints a run as JSON, one object a line with its keys in alphabetical order, in the
// schema of kpt live. docs/output.md describes it.
type JSONLines struct {
	Out      io.Writer
	Now      func() time.Time
	Reason   func(*RunState, PhaseEvent) string // why a write failed or did not happen
	Detailed bool                               // with the keys and types that kpt live does not have
	Began    time.Time                          // of the run; zero leaves out the time since then
}

// entry is one line.
type entry map[string]any

func (j JSONLines) write(e entry) error {
	now := j.Now()
	if e["timestamp"] = now.UTC().Format(time.RFC3339); !j.Began.IsZero() {
		e["elapsed"] = elapsed(now.Sub(j.Began))
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(j.Out, string(text))
	return err
}

// Fail prints the error that ends a run or prevents it.
func (j JSONLines) Fail(text string) error {
	return j.write(entry{"type": "error", "error": text})
}

// Print prints an event of a run.
func (j JSONLines) Print(b *RunState, m PhaseEvent) error {
	var e entry
	switch m.Mark {
	case Started:
		e = entry{"type": "group", "action": jsonAction(b, m.Phase), "status": "Started"}
	case Finished:
		e = entry{}
		if m.Phase != Recording {
			e = j.counts(b, m.Phase)
		}
		e["type"], e["action"], e["status"] = "group", jsonAction(b, m.Phase), "Finished"
	case Acted, Awaited:
		if j.Detailed && m.Mark == Awaited && b.isUnawaited(m.Event) {
			return nil
		}
		e = jsonObject(m.Event.Ref)
		e["type"], e["status"] = jsonType(b, m.Phase), m.OutcomeWord(b)
		if reason := j.Reason(b, m); reason != "" {
			e["error"] = reason
		}
		j.addDetails(b, m, e)
	case StatusSeen:
		e = jsonObject(m.Event.Ref)
		e["type"], e["status"], e["message"] = "status", m.Event.Status.State, m.Event.Status.Message
	case Summarized:
		e = j.counts(b, m.Phase)
		e["type"], e["action"] = "summary", jsonAction(b, m.Phase)
	case Explained:
		if !j.Detailed {
			return nil
		}
		e = jsonObject(m.Event.Ref)
		e["type"], e["causes"] = "explanation", m.Event.Causes
	}
	return j.write(e)
}

// addDetails adds the keys that kpt live does not have.
func (j JSONLines) addDetails(b *RunState, m PhaseEvent, e entry) {
	if !j.Detailed {
		return
	}
	step := b.Plan.Steps[m.Event.Step]
	if step.Source != "" {
		e["source"] = step.Source
	}
	if m.Mark == Acted {
		e["operation"] = m.Event.Op
		if m.Event.Outcome == event.Succeeded && m.Event.Reason != "" {
			e["message"] = m.Event.Reason
		}
		if m.Event.NotRecreated {
			e["notRecreated"] = true
		}
		if len(m.Event.Unstored) > 0 {
			e["unstored"] = m.Event.Unstored
		}
		return
	}
	if b.Rows[m.Event.Step].Acted == "" {
		e["message"] = "not begun"
	}
	if m.Event.Status.Message != "" {
		e["message"] = m.Event.Status.Message
	}
	if m.Event.Err != nil && b.Rows[m.Event.Step].Acted == event.Succeeded {
		e["error"] = m.Event.Err.Error()
	}
}

func jsonObject(ref object.Ref) entry {
	return entry{"group": ref.Group, "kind": ref.Kind, "namespace": ref.Namespace, "name": ref.Name}
}

func (j JSONLines) counts(b *RunState, phase Phase) entry {
	c := b.Counts(phase)
	if j.Detailed && phase == Waiting {
		c.Successful -= b.Waits.Unawaited
	}
	e := entry{
		"count":      c.Attempted(),
		"successful": c.Successful,
		"skipped":    c.Skipped,
		"failed":     c.Failed,
	}
	if phase == Waiting {
		e["timeout"] = c.TimedOut
		if j.Detailed {
			e["interrupted"] = b.Waits.Interrupted
		}
	}
	return e
}

// jsonAction and jsonType return the names of a phase in lines about the phase and about its
// objects.
func jsonAction(b *RunState, phase Phase) string {
	if phase == Recording {
		return "Inventory"
	}
	name := jsonType(b, phase)
	return strings.ToUpper(name[:1]) + name[1:]
}

func jsonType(b *RunState, phase Phase) string {
	if phase == Waiting {
		return "wait"
	}
	return b.Action(phase)
}

// Action returns the verb of a phase in the words of kpt live.
func (b *RunState) Action(phase Phase) string {
	switch {
	case phase == Applying:
		return "apply"
	case phase == Waiting:
		return "reconcile"
	case b.Plan.Destroys:
		return "delete"
	default:
		return "prune"
	}
}

// OutcomeWord returns the word of kpt live for the outcome of a write or a wait.
func (m PhaseEvent) OutcomeWord(b *RunState) string {
	switch {
	case m.Event.Kind == event.Waiting:
		return "Pending"
	case m.Event.Outcome == event.Interrupted:
		return "Interrupted"
	case m.Mark == Awaited && b.Rows[m.Event.Step].Acted != event.Succeeded:
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

// Counts are the numbers of objects of a phase by their outcome.
type Counts struct{ Successful, Skipped, Failed, TimedOut int }

// Attempted returns the number of all objects.
func (c Counts) Attempted() int { return c.Successful + c.Skipped + c.Failed + c.TimedOut }

// Counts returns the numbers of a phase.
func (b *RunState) Counts(phase Phase) Counts {
	part := b.Applies
	switch phase {
	case Waiting:
		return Counts{
			Successful: b.Waits.Succeeded + b.Waits.Unawaited,
			Skipped:    b.Waits.Skipped,
			Failed:     b.Waits.Failed,
			TimedOut:   b.Waits.TimedOut,
		}
	case Removing:
		part = b.Removes
	}
	return Counts{
		Successful: part.Acted - part.Skipped - part.Failed,
		Skipped:    part.Skipped,
		Failed:     part.Failed,
	}
}

// SkipReason returns why a step was skipped.
func SkipReason(b *RunState, e event.Event) string {
	if e.Reason != "" || e.Blocker == nil {
		return e.Reason
	}
	blocker, row := b.Plan.Steps[*e.Blocker], b.Rows[*e.Blocker]
	removes := blocker.Op.Removes()
	switch {
	case e.RunEnded:
		return fmt.Sprintf("the run ended early, because %s failed", blocker.Ref)
	case blocker.ReasonCode == plan.ReasonUnserved:
		return fmt.Sprintf("%s may still be there and depend on it", blocker.Ref)
	case removes:
		return fmt.Sprintf("%s is still there and depends on it", blocker.Ref)
	case row.Acted == event.Skipped:
		return fmt.Sprintf("it depends on %s, which was skipped", blocker.Ref)
	case row.Acted == event.Failed:
		return fmt.Sprintf("it depends on %s, which failed", blocker.Ref)
	case row.Settled == event.TimedOut:
		return fmt.Sprintf("it depends on %s, which was not ready in time", blocker.Ref)
	default:
		return fmt.Sprintf("it depends on %s, which did not become ready", blocker.Ref)
	}
}

// PlainReason returns why a write failed or was skipped.
func PlainReason(b *RunState, m PhaseEvent) string {
	switch {
	case m.Mark == Acted && m.Event.Outcome == event.Failed:
		return m.Event.Err.Error()
	case m.Mark == Acted && m.Event.Outcome == event.Skipped:
		return SkipReason(b, m.Event)
	default:
		return ""
	}
}
