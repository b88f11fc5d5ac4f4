// Package report renders runs and plans for people and programs that were not there: as JUnit, as
// one HTML page, as Markdown, and in the formats of GitHub and GitLab.
//
// Its input is the JSON that the native commands print, while it is printed or from a file; so a
// recorded run has the same reports as one in progress. It reads no cluster and no manifest, and
// holds no values that the JSON does not have: Secrets are masked before.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Run is a run of a set, or its plan. All but Objects may be unknown.
type Run struct {
	Tool      string
	Command   string
	Set       string // what messages call the set
	Namespace string // of its record
	Cluster   string
	Folder    string // of the sources of objects
	DryRun    bool
	Destroys  bool
	PlanOnly  bool // nothing was run
	Restores  int  // the revision that the run restores; 0 is none

	Began   time.Time
	Elapsed float64 // seconds

	Objects  []*Object // in the order of the plan
	Problems []Problem // the objects that are not as the run should have made them
	Outcome  Outcome   // empty if the recording ends before the run did
	Error    string    // ended the run

	Recovery *Recovery // what followed because the run had failed; nil for nothing
	Recovers bool      // the run is the recovery from the one before

	byRef map[object.Ref]*Object
}

// Recovery is what follows a run that has failed: a rollback, or why there is none.
type Recovery struct {
	Restores int    // revision
	Error    string // why there is no rollback
	Run      *Run   // the rollback; nil if the recording ends before
}

// String returns what became of the set.
func (r *Recovery) String() string {
	switch {
	case r.Error != "":
		return "not rolled back: " + r.Error
	case r.Run == nil || r.Run.Outcome == "":
		return fmt.Sprintf("its rollback to revision %d did not end in the recording", r.Restores)
	case r.Run.Outcome == Interrupted:
		return fmt.Sprintf("its rollback to revision %d was interrupted", r.Restores)
	case r.Run.Bad():
		return fmt.Sprintf("its rollback to revision %d failed", r.Restores)
	default:
		return fmt.Sprintf("the set was rolled back to revision %d", r.Restores)
	}
}

// Outcome is the result of a run.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// State is what a run, or a plan, did to an object or what became of it.
type State string

// The states. A plan uses the words of its JSON: create, configure and so on.
const (
	Pending     State = "pending"
	Waiting     State = "waiting"
	Created     State = "created"
	Configured  State = "configured"
	Unchanged   State = "unchanged"
	Deleted     State = "deleted"
	Orphaned    State = "orphaned"
	Kept        State = "kept"
	Skipped     State = "skipped"
	Found       State = "found"
	TimedOut    State = "timed out"
	StateFailed State = "failed"
	Unfinished  State = "interrupted"
	ToCreate    State = "create"
	ToConfigure State = "configure"
	ToRecreate  State = "recreate"
	ToPrune     State = "prune"
	ToOrphan    State = "orphan"
	ToFail      State = "fail"
)

// Object is one object of a run.
type Object struct {
	object.Ref
	Operation string // planned, or done
	State     State
	Source    string
	Needs     []object.Ref // objects of the set that it waits for
	Changes   diff.Diff    // from nothing if the object is created, to nothing if it is deleted
	Omitted   int          // number of values that the changes leave out
	Hidden    string       // why the changes are not shown
	Message   string
	Error     string
	Causes    []ready.Cause

	Written float64 // seconds from the beginning of the run to the end of the write
	Settled float64 // to the end of the wait; 0 if it never ended
}

// Changed reports whether the object changes, or has changed.
func (o *Object) Changed() bool {
	switch o.State {
	case Created, Configured, Deleted, Orphaned, ToCreate, ToConfigure, ToRecreate, ToPrune, ToOrphan:
		return true
	default:
		return false
	}
}

// Bad reports whether the object failed, or would.
func (o *Object) Bad() bool {
	return o.State == StateFailed || o.State == TimedOut || o.State == Unfinished || o.State == ToFail
}

// Problem is an object that is not as the run should have made it.
type Problem struct {
	object.Ref
	Text        string        `json:"problem"` // is not ready, could not be applied, …
	Message     string        `json:"message"`
	Source      string        `json:"source"`
	Causes      []ready.Cause `json:"causes"`
	Next        string        `json:"next"`        // the command that shows more
	Consequence bool          `json:"consequence"` // another object is the reason
}

// Detail is why objects are not as the run should have made them: one reason, which may be that of
// many objects.
type Detail struct {
	Text    string // the reason
	Objects []Problem
	Log     []string // the last lines of a container
	Next    string
	Stuck   bool // it is unlikely to pass without a change
	Conseq  bool // it follows from another

}

// Title returns which objects have the reason.
func (d Detail) Title() string {
	p := d.Objects[0]
	if n := len(d.Objects); n > 1 {
		text := p.Text
		for one, many := range plurals {
			text = strings.Replace(text, one, many, 1)
		}
		return fmt.Sprintf("%s and %d more %s", p.Ref.String(), n-1, text)
	}
	return p.Ref.String() + " " + p.Text
}

// plurals are the verbs of problems.
var plurals = map[string]string{"is ": "are ", "was ": "were "}

// Details returns the reasons of all problems, the worst first: what will not pass without a
// change, then what concerns most objects, then what only follows from others.
func (r *Run) Details() []Detail {
	var details []Detail
	places := map[string]int{} // by what objects with the same reason have in common
	for _, p := range r.Problems {
		text, log, stuck, same := p.Message, []string(nil), false, p.Message
		if len(p.Causes) > 0 {
			lines := make([]string, len(p.Causes))
			same = ""
			for i, c := range p.Causes {
				lines[i] = CauseText(p.Ref, c)
				same += c.Object.Kind + ": " + c.Message + "\n"
				if len(log) == 0 {
					log = c.Log
				}
				stuck = stuck || c.Stuck
			}
			text = strings.Join(lines, "\n")
		}
		text = cmp.Or(text, "the reason is unknown")
		key := p.Text + "\x00" + strings.ReplaceAll(same, p.Name, "\x01")
		i, known := places[key]
		if !known {
			i, places[key] = len(details), len(details)
			details = append(details, Detail{
				Text: text, Log: log, Next: p.Next, Stuck: stuck, Conseq: p.Consequence,
			})
		}
		details[i].Objects = append(details[i].Objects, p)
	}
	slices.SortStableFunc(details, func(a, b Detail) int {
		return cmp.Or(order(a.Conseq, b.Conseq), order(b.Stuck, a.Stuck),
			cmp.Compare(len(b.Objects), len(a.Objects)))
	})
	return details
}

// order returns the order of two values of which false is the first.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// CauseText returns a cause as one line.
func CauseText(ref object.Ref, c ready.Cause) string {
	switch {
	case c.Count > 1:
		return fmt.Sprintf("%d %ss: %s", c.Count, strings.ToLower(c.Object.Kind), c.Message)
	case c.Object != ref && c.Object.Name != "":
		return c.Object.Short() + ": " + c.Message
	default:
		return c.Message
	}
}

// StateCount is a number of objects.
type StateCount struct {
	State State
	Count int
}

// Counts returns the numbers of objects by their state, failures first, then changes.
func (r *Run) Counts() []StateCount {
	counts := map[State]int{}
	for _, o := range r.Objects {
		counts[o.State]++
	}
	states := []State{ToFail, StateFailed, TimedOut, Unfinished, Pending, Waiting, Created, Configured,
		Deleted, Orphaned, ToCreate, ToConfigure, ToRecreate, ToPrune, ToOrphan, Kept, "keep", Skipped,
		"skip", Found, Unchanged}
	var list []StateCount
	for _, s := range states {
		if counts[s] > 0 {
			list = append(list, StateCount{s, counts[s]})
		}
	}
	return list
}

// countWords are the words for numbers of objects in a plan.
var countWords = map[State]string{
	ToCreate: "to create", ToConfigure: "to configure", ToRecreate: "to recreate",
	ToPrune: "to prune", ToOrphan: "to orphan", ToFail: "would fail", "keep": "kept",
	"skip": "skipped",
}

// CountText returns the numbers of objects in one line.
func (r *Run) CountText() string {
	var parts []string
	for _, c := range r.Counts() {
		word := cmp.Or(countWords[c.State], string(c.State))
		parts = append(parts, fmt.Sprintf("%d %s", c.Count, word))
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return strings.Join(parts, ", ")
}

// Title returns the command and the set.
func (r *Run) Title() string {
	title := cmp.Or(r.Command, "run")
	if r.PlanOnly {
		title = "plan"
	}
	if r.Set != "" {
		title += " of " + r.Set
	}
	if r.Restores > 0 {
		title += fmt.Sprintf(" to revision %d", r.Restores)
	}
	if r.DryRun && !r.PlanOnly {
		title += " (dry run)"
	}
	return title
}

// Headline returns what happened in one line.
func (r *Run) Headline() string {
	text := ""
	switch {
	case r.PlanOnly && !slices.ContainsFunc(r.Objects, (*Object).Changed) && !r.Bad():
		return r.Title() + ": nothing would change (" + r.CountText() + ")"
	case r.PlanOnly:
		return r.Title() + ": " + r.CountText()
	case r.Outcome == "":
		text = "did not end in the recording"
	default:
		text = string(r.Outcome)
	}
	text = r.Title() + " " + text
	if took := Seconds(r.Elapsed); took != "" {
		text += " after " + took
	}
	text += ": " + r.CountText()
	if r.Recovery != nil {
		text += "; " + r.Recovery.String()
	}
	return text
}

// Bad reports whether the run failed, or would.
func (r *Run) Bad() bool {
	return r.Error != "" || len(r.Problems) > 0 || !r.PlanOnly && r.Outcome != Succeeded ||
		slices.ContainsFunc(r.Objects, (*Object).Bad)
}

// Seconds returns a time as text, empty for none.
func Seconds(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
