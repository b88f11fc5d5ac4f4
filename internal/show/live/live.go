// Package live draws a run on a terminal while it happens, and shows a plan before it is run.
//
// A Run collects events and turns them into the lines of a screen; package fullscreen draws those.
// What is drawn depends only on the events, the keys, the clock and the size of the screen.
package live

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Options describe how a run is drawn.
type Options struct {
	Title  string // of the screen: what is run, and on which set
	Now    func() time.Time
	ASCII  bool                     // the terminal shows no other characters
	Reason view.ReasonFunc          // why a write failed or was skipped
	Notice func(event.Event) string // about the run; empty if there is nothing to say
	// Logs begins to add the lines of the logs of a step's pods, until the returned function is
	// called. It must not block. Nil if no logs can be read.
	Logs func(step int, to *Log) (stop func())
}

// section is a part of the list of objects.
type section int

// The sections, in the order of the screen.
const (
	failed section = iota
	waiting
	writing
	pending
	skipped
	done
	sections // their number
)

// row is what is known about one step.
type row struct {
	name    string
	section section
	began   time.Time // of its wait, or of its writing
	took    time.Duration
	reason  string // why the write failed or was skipped
	retried string // why the write is sent again
	status  ready.Status
	causes  []ready.Cause
	open    bool // its details are shown

	released bool // the steps that depend on it may begin
}

// Run is the state of a run on the screen. It may be used concurrently.
type Run struct {
	options Options

	mu      sync.Mutex
	began   time.Time
	state   *view.RunState
	rows    []row         // of all steps; those of barriers and guards have no name
	needs   [][]int       // for each step, those that have to settle before, each once
	unmet   []int         // for each step, how many of them have not settled
	waiters map[int][]int // the steps that depend on each step
	counts  [sections]int // of objects
	total   int
	longest int    // the longest name, in columns
	notice  string // of the last event
	warning string // the last line written to the standard error
	hint    string // about the last key
	log     *Log   // nil unless a log is shown instead of the list
	changed func() // called when what is shown has changed; it does not block

	list list
}

// NewRun returns the state of the run of a plan before its first event.
func NewRun(p *plan.Plan, o Options) *Run {
	r := &Run{
		options: o, began: o.Now(), state: view.NewRunState(p),
		rows: make([]row, len(p.Steps)), needs: make([][]int, len(p.Steps)),
		unmet: make([]int, len(p.Steps)), waiters: map[int][]int{}, changed: func() {},
	}
	name := nameOf(p)
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Op.IsObject() {
			r.rows[i].name = name(step.Ref)
			r.longest = max(r.longest, fullscreen.Width(r.rows[i].name))
			r.total++
			r.counts[pending]++
		}
		r.rows[i].section = pending
		r.needs[i] = dependencies(step)
		r.unmet[i] = len(r.needs[i])
		for _, d := range r.needs[i] {
			r.waiters[d] = append(r.waiters[d], i)
		}
	}
	for i := range r.rows {
		r.settleEmpty(i)
	}
	for i := range r.rows {
		r.beginIfReady(i)
	}
	r.list.folded[done] = true
	return r
}

// nameOf returns how the objects of a plan are named: with their namespaces if there are several.
func nameOf(p *plan.Plan) func(object.Ref) string {
	namespace, several := "", false
	for i := range p.Steps {
		if n := p.Steps[i].Ref.Namespace; n != "" {
			several = several || namespace != "" && n != namespace
			namespace = n
		}
	}
	if several {
		return object.Ref.String
	}
	return object.Ref.Short
}

// dependencies returns the steps that have to settle before a step, each once.
func dependencies(s *plan.Step) []int {
	all := slices.Concat(s.Needs, s.After)
	slices.Sort(all)
	return slices.Compact(all)
}

// settleEmpty settles a barrier or a guard whose dependencies have settled: such a step has no
// object that events are about.
func (r *Run) settleEmpty(i int) {
	if r.rows[i].name == "" && r.rows[i].section == pending && r.unmet[i] == 0 {
		r.settle(i, done)
	}
}

// beginIfReady marks a step whose dependencies have settled as being written.
func (r *Run) beginIfReady(i int) {
	if r.rows[i].name != "" && r.rows[i].section == pending && r.unmet[i] == 0 {
		r.move(i, writing)
		r.rows[i].began = r.options.Now()
	}
}

// move moves a step to a section.
func (r *Run) move(i int, s section) {
	if r.rows[i].name != "" {
		r.counts[r.rows[i].section]--
		r.counts[s]++
	}
	r.rows[i].section = s
}

// settle moves a step that has ended to a section.
func (r *Run) settle(i int, s section) {
	r.move(i, s)
	r.release(i)
}

// release begins the steps that waited for a step, once.
func (r *Run) release(i int) {
	if r.rows[i].released {
		return
	}
	r.rows[i].released = true
	for _, w := range r.waiters[i] {
		r.unmet[w]--
		r.settleEmpty(w)
		r.beginIfReady(w)
	}
}

// Event adds one event.
func (r *Run) Event(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Add(e)
	if r.options.Notice != nil {
		r.notice = r.options.Notice(e)
	}
	if e.Err != nil && e.Kind == event.Observed {
		return // about the run
	}
	w := &r.rows[e.Step]
	if e.Status.State != "" {
		w.status = e.Status
	}
	if len(e.Causes) > 0 || e.Kind == event.Explained {
		w.causes = e.Causes
	}
	switch e.Kind {
	case event.Retried:
		w.retried = firstLine(e.Err.Error())
	case event.Acted:
		w.retried = ""
		w.reason = r.options.Reason(r.state, view.PhaseEvent{Mark: view.Acted, Event: e})
	case event.Waiting:
		w.began = r.options.Now()
		r.move(e.Step, waiting)
	case event.Settled:
		r.end(e)
	}
	if e.Released {
		r.release(e.Step)
	}
}

// end settles the step of an event.
func (r *Run) end(e event.Event) {
	w, state := &r.rows[e.Step], r.state.Rows[e.Step]
	if !w.began.IsZero() {
		w.took = r.options.Now().Sub(w.began)
	}
	if e.Err != nil && w.reason == "" {
		w.reason = e.Err.Error()
	}
	switch {
	case state.Acted == event.Failed, state.Acted == event.Succeeded && e.Outcome.IsFailure():
		r.settle(e.Step, failed)
	case state.Acted == event.Succeeded && e.Outcome == event.Succeeded:
		r.settle(e.Step, done)
	default:
		r.settle(e.Step, skipped)
	}
}

// notify lets a function be called when what is shown has changed without an event or a key.
func (r *Run) notify(changed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// close ends the reading of logs.
func (r *Run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeLog()
}

// Warn shows the last line of a text that was written beside the screen.
func (r *Run) Warn(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	r.warning = lines[len(lines)-1]
}

// headline returns why a step is where it is, in one line.
func (r *Run) headline(i int) string {
	w := &r.rows[i]
	switch {
	case w.section == pending:
		return r.blockers(i)
	case w.section == writing:
		switch {
		case w.status.State == ready.Terminating:
			return w.retried
		case w.retried != "":
			return "sent again: " + w.retried
		}
		return ""
	case w.reason != "":
		return firstLine(w.reason)
	case w.section == done:
		return ""
	case len(w.causes) > 0:
		return causeText(r.state.Plan.Steps[i].Ref, w.causes[0])
	default:
		return firstLine(w.status.Message)
	}
}

// causeText returns a cause in one line.
func causeText(about object.Ref, c ready.Cause) string {
	lines := view.Causes(event.Event{Ref: about, Causes: []ready.Cause{{
		Object: c.Object, Count: c.Count, Message: c.Message,
	}}})
	return strings.TrimSpace(strings.Join(lines, " "))
}

// blockers returns which object a step waits for, and how many more.
func (r *Run) blockers(i int) string {
	first, more := r.firstBlocker(i)
	switch {
	case first < 0:
		return ""
	case more > 0:
		return "waits for " + r.rows[first].name + " and " + count(more, "more")
	default:
		return "waits for " + r.rows[first].name
	}
}

// firstBlocker returns the first object that a step waits for, and the number of the others. It
// looks through barriers and guards.
func (r *Run) firstBlocker(i int) (first, more int) {
	first = -1
	for _, d := range r.needs[i] {
		if r.rows[d].released {
			continue
		}
		if r.rows[d].name == "" && first < 0 {
			first, more = r.firstBlocker(d)
		} else if first < 0 {
			first = d
		} else {
			more++
		}
	}
	return first, more
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
