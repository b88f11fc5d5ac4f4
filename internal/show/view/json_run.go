package view

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// JSONVersion is the version of the JSON of runs. The number before the point grows with changes
// that a program which ignores unknown types and keys would notice, the other with additions.
const JSONVersion = "1.1"

// RunHeader says what is run, where and by whom. JSON has it before the run.
type RunHeader struct {
	Tool      string // version of the program
	Command   string // apply, destroy
	Set       string // what messages call the set
	Namespace string // of its record
	Cluster   string // what messages call the cluster
	Folder    string // from which the sources of objects are; empty if unknown
	Restores  int    // the revision that the run restores; 0 is none
}

// Recovery is what follows a run that has failed: a rollback, or why there is none.
type Recovery struct {
	Failed   int    // of the run that failed; 0 if it has none
	Restores int    // the revision that the rollback restores
	Error    string // why there is no rollback
}

// String returns the recovery as a line.
func (r Recovery) String() string {
	failed := "the run failed"
	if r.Failed > 0 {
		failed += fmt.Sprintf(" (revision %d)", r.Failed)
	}
	if r.Error != "" {
		return failed + ", and is not rolled back: " + r.Error
	}
	return fmt.Sprintf("%s: rolling back to revision %d", failed, r.Restores)
}

// Recover prints what follows a run that has failed, after the run.
func (j JSONLines) Recover(r Recovery) error {
	e := entry{"type": "recovery"}
	if r.Failed > 0 {
		e["revision"] = r.Failed
	}
	if r.Error != "" {
		e["error"] = r.Error
	} else {
		e["restores"] = r.Restores
	}
	return wrapWrite(j.write(e))
}

// begin prints what is known before the run: the version, the header and the plan.
func (j JSONLines) begin(h RunHeader, p *plan.Plan, dryRun bool) error {
	if err := j.write(entry{"type": "version", "ui": JSONVersion, "muster": h.Tool}); err != nil {
		return err
	}
	run := entry{
		"type": "run", "command": h.Command, "set": h.Set, "namespace": h.Namespace,
		"cluster": h.Cluster, "dryRun": dryRun, "destroys": p.Destroys, "count": len(p.Refs()),
	}
	if h.Folder != "" {
		run["folder"] = h.Folder
	}
	if h.Restores > 0 {
		run["restores"] = h.Restores
	}
	err := j.write(run)
	room := maxContents
	for i := range p.Steps {
		if err == nil && p.Steps[i].Ref != (object.Ref{}) {
			e := plannedEntry(p, i)
			room -= addContent(e, p, &p.Steps[i], room)
			err = j.write(e)
		}
	}
	return err
}

// The limits in bytes of the content that is shown of an object that is created or deleted, and of
// all such objects of a run.
const (
	maxContent  = 16 << 10
	maxContents = 4 << 20
)

// contentOmitted is printed instead of the content of an object if that of others is too long.
const contentOmitted = "its content is not shown, because that of others is long"

// addContent adds to the line of a step how its object changes, and returns the length of what is
// limited. Of an update in a server-side apply only the server knows the result.
func addContent(e entry, p *plan.Plan, step *plan.Step, room int) int {
	have, want := step.Have, step.Want
	switch step.Op {
	case plan.Update:
		if step.ServerSide {
			return 0
		}
	case plan.Create:
		have = nil
	case plan.Delete:
		want = nil
	default:
		return 0
	}
	if step.Sensitive {
		e["hidden"] = ContentHidden
		return 0
	}
	changes := diff.Between(have, want, diff.Options{
		IgnoreAnnotations: append([]string{p.LastApplied}, p.Bookkeeping...),
	})
	if step.Op == plan.Update {
		if len(changes) > 0 {
			e["changes"] = changes
		}
		return 0
	}
	if len(changes) > 0 && room < maxContent {
		e["hidden"] = contentOmitted
		return 0
	}
	kept, omitted := changes.Limit(maxContent)
	if len(kept) > 0 {
		e["changes"] = kept
	}
	if omitted > 0 {
		e["omitted"] = omitted
	}
	return kept.Size()
}

// plannedEntry returns the line of one step of a plan.
func plannedEntry(p *plan.Plan, i int) entry {
	step := &p.Steps[i]
	e := jsonObject(step.Ref)
	e["type"], e["operation"] = "planned", step.Op
	if step.Source != "" {
		e["source"] = step.Source
	}
	if step.Reason != "" {
		e["message"] = step.Reason
	}
	if needs := NeedsOf(p, step); needs != nil {
		e["needs"] = needs
	}
	return e
}

// NeedsOf returns the objects that a step of a plan waits for. A nil plan has none.
func NeedsOf(p *plan.Plan, step *plan.Step) (needs []object.Ref) {
	if p == nil {
		return nil
	}
	for _, list := range [][]int{step.Needs, step.After} {
		for _, n := range list {
			if ref := p.Steps[n].Ref; ref != (object.Ref{}) && !slices.Contains(needs, ref) {
				needs = append(needs, ref)
			}
		}
	}
	return needs
}

// problems prints a line for each object that the run did not bring to its desired state, and the
// result of the run. Failed is the error that ended it early, or nil.
func (j JSONLines) problems(w *FailureSummary, failed error) error {
	outcome := event.Succeeded
	for s, indexes := range w.shortfalls() {
		for _, i := range indexes {
			outcome = event.Failed
			if err := j.write(w.problemEntry(shortfall(s), i)); err != nil {
				return err
			}
		}
	}
	switch {
	case w.state.Waits.Interrupted > 0:
		outcome = event.Interrupted
	case failed != nil:
		outcome = event.Failed
	}
	e := entry{"type": "result", "outcome": outcome}
	if failed != nil {
		e["error"] = failed.Error()
	}
	return j.write(e)
}

// problemEntry returns the line of one object that failed.
func (w *FailureSummary) problemEntry(s shortfall, i int) entry {
	step, acted, settled := &w.state.Plan.Steps[i], w.events[i].acted, w.events[i].settled
	e := jsonObject(step.Ref)
	e["type"], e["problem"] = "problem", shortfallTexts[s][0]
	if step.Source != "" {
		e["source"] = step.Source
	}
	message := ""
	switch {
	case s == notApplied || s == notDeleted || s == notRecreated:
		if acted.Err != nil {
			message = acted.Err.Error()
		}
	case s == skipped || s == kept:
		message = SkipReason(w.state, acted)
		e["consequence"] = acted.Blocker != nil
	case w.state.Rows[i].Acted == "":
		message, e["consequence"] = "not begun", true
	default:
		if message = settled.Status.Message; settled.Err != nil {
			message = settled.Err.Error()
		}
		if len(w.causes[i]) > 0 {
			e["causes"] = w.causes[i]
		}
		e["next"] = NextCommand(step.Ref, w.causes[i], w.flags...)
	}
	if message != "" {
		e["message"] = message
	}
	return e
}

// elapsed returns the seconds since the beginning of a run, rounded to milliseconds.
func elapsed(since time.Duration) float64 { return math.Round(since.Seconds()*1000) / 1000 }
