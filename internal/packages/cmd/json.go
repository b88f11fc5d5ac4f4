package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/view"
)

// jsonLines prints a run as JSON, one object a line with its keys in alphabetical order, in the
// schema of kpt live. docs/output.md describes it.
type jsonLines struct {
	out      io.Writer
	now      func() time.Time
	reason   reasonFunc // why a write failed or did not happen
	detailed bool       // with the keys and types that kpt live does not have
}

// entry is one line.
type entry map[string]any

func (j jsonLines) write(e entry) error {
	e["timestamp"] = j.now().UTC().Format(time.RFC3339)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(j.out, string(text))
	return err
}

// fail prints the error that ends a run or prevents it.
func (j jsonLines) fail(text string) error {
	return j.write(entry{"type": "error", "error": text})
}

// print prints an event of a run.
func (j jsonLines) print(b *view.RunState, m view.PhaseEvent) error {
	var e entry
	switch m.Mark {
	case view.Started:
		e = entry{"type": "group", "action": jsonAction(b, m.Phase), "status": "Started"}
	case view.Finished:
		e = entry{}
		if m.Phase != view.Recording {
			e = j.counts(b, m.Phase)
		}
		e["type"], e["action"], e["status"] = "group", jsonAction(b, m.Phase), "Finished"
	case view.Acted, view.Awaited:
		e = jsonObject(m.Event.Ref)
		e["type"], e["status"] = jsonType(b, m.Phase), liveOutcome(b, m)
		if reason := j.reason(b, m); reason != "" {
			e["error"] = reason
		}
		j.addDetails(b, m, e)
	case view.StatusSeen:
		e = jsonObject(m.Event.Ref)
		e["type"], e["status"], e["message"] = "status", m.Event.Status.State, m.Event.Status.Message
	case view.Summarized:
		e = j.counts(b, m.Phase)
		e["type"], e["action"] = "summary", jsonAction(b, m.Phase)
	case view.Explained:
		if !j.detailed {
			return nil
		}
		e = jsonObject(m.Event.Ref)
		e["type"], e["causes"] = "explanation", m.Event.Causes
	}
	return j.write(e)
}

// addDetails adds the keys that kpt live does not have.
func (j jsonLines) addDetails(b *view.RunState, m view.PhaseEvent, e entry) {
	if !j.detailed {
		return
	}
	step := b.Plan.Steps[m.Event.Step]
	if step.Source != "" {
		e["source"] = step.Source
	}
	if m.Mark == view.Acted {
		e["operation"] = m.Event.Op
		if m.Event.Outcome == event.Succeeded && m.Event.Reason != "" {
			e["message"] = m.Event.Reason
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

func (j jsonLines) counts(b *view.RunState, phase view.Phase) entry {
	c := countOf(b, phase)
	e := entry{
		"count":      c.attempted(),
		"successful": c.successful,
		"skipped":    c.skipped,
		"failed":     c.failed,
	}
	if phase == view.Waiting {
		e["timeout"] = c.timedOut
		if j.detailed {
			e["interrupted"] = b.Waits.Interrupted
		}
	}
	return e
}

// jsonAction and jsonType return the names of a phase in lines about the phase and about its
// objects.
func jsonAction(b *view.RunState, phase view.Phase) string {
	if phase == view.Recording {
		return "Inventory"
	}
	name := jsonType(b, phase)
	return strings.ToUpper(name[:1]) + name[1:]
}

func jsonType(b *view.RunState, phase view.Phase) string {
	if phase == view.Waiting {
		return "wait"
	}
	return action(b, phase)
}
