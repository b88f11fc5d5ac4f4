package view

import (
	"slices"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Phase is a part of a run.
type Phase string

// The phases. A run records its intent, applies and waits, removes and waits, and records the
// result.
const (
	Recording Phase = "recording"
	Applying  Phase = "applying"
	Removing  Phase = "removing"
	Waiting   Phase = "waiting"
)

// PhaseMark is the kind of a phase event.
type PhaseMark string

// The marks. Every phase has one Started and one Finished. Between them Acted reports the end of an
// object's write, and Awaited the begin or end of its wait. StatusSeen and Explained may come at
// any time. Summarized comes at the end, once per phase in which an object had an event.
const (
	Started    PhaseMark = "started"
	Finished   PhaseMark = "finished"
	Acted      PhaseMark = "acted"
	Awaited    PhaseMark = "awaited"
	StatusSeen PhaseMark = "seen"      // an object has a new status
	Explained  PhaseMark = "explained" // an event of this kind
	Summarized PhaseMark = "summed"
)

// PhaseEvent is one event of a run in phases. Event is zero if it concerns no object.
type PhaseEvent struct {
	Mark  PhaseMark
	Phase Phase
	Event event.Event
}

// PhaseOptions control which phase events a run has.
type PhaseOptions struct {
	Rounds    bool // hold events back until their round begins, in the order of the plan
	Waits     bool // the run waits
	DryRun    bool // the run changes nothing
	Statuses  bool // print new statuses
	Unstarted bool // print steps that an interrupt prevented, as interrupted waits
}

// Phases returns a printer that passes phase events to print, with the state of the run after the
// latest event. It returns the first error of print. Without Rounds the phase events of objects
// keep the order of the events, and only Recording has a begin and an end.
func Phases(p *plan.Plan, o PhaseOptions, print func(*RunState, PhaseEvent) error) Printer {
	m := &phasePrinter{
		options: o,
		print:   print,
		state:   NewRunState(p),
		steps:   make([]stepEvents, len(p.Steps)),
		open:    len(p.Refs()),
	}
	if o.Rounds {
		m.rounds = p.Rounds()
	}
	m.recordPhase(!p.Destroys)
	return m
}

// stepEvents are the latest events of a step; zero until they come.
type stepEvents struct {
	acted, waiting, settled event.Event
	seen                    ready.Status // last printed
}

type phasePrinter struct {
	options   PhaseOptions
	print     func(*RunState, PhaseEvent) error
	state     *RunState
	steps     []stepEvents
	open      int  // steps that have not settled
	recording bool // the phase has begun and not ended
	ended     bool // the run ended, except for recording the result
	rounds    [][]int
	current   roundProgress // of the first round; printed rounds are removed
	err       error
}

// roundProgress is the printed part of a round.
type roundProgress struct {
	phase Phase // empty before the round begins
	acted int   // steps whose writes are printed
}

func (m *phasePrinter) mark(mark PhaseMark, phase Phase) { m.emit(mark, phase, event.Event{}) }

func (m *phasePrinter) emit(mark PhaseMark, phase Phase, e event.Event) {
	if err := m.print(m.state, PhaseEvent{Mark: mark, Phase: phase, Event: e}); err != nil &&
		m.err == nil {
		m.err = err
	}
}

// recordPhase begins or ends the phase Recording.
func (m *phasePrinter) recordPhase(begins bool) {
	if m.recording == begins {
		return
	}
	m.recording = begins
	if begins {
		m.mark(Started, Recording)
	} else {
		m.mark(Finished, Recording)
	}
}

// Event handles one event.
func (m *phasePrinter) Event(e event.Event) {
	m.state.Add(e)
	if !m.ended {
		m.recordPhase(false)
	}
	step := &m.steps[e.Step]
	if m.options.Statuses && e.Status.State != "" && !step.seen.Same(e.Status) {
		step.seen = e.Status
		m.emit(StatusSeen, Waiting, e)
	}
	switch e.Kind {
	case event.Acted:
		step.acted = e
		if !m.options.Rounds {
			m.emit(Acted, m.phaseOf(e.Step), e)
		}
	case event.Waiting, event.Settled:
		again := (e.Relapsed || step.waiting.Relapsed) &&
			(len(m.rounds) == 0 || !slices.Contains(m.rounds[0], e.Step)) // its round is printed
		if !m.options.Rounds || m.current.phase == Waiting || again {
			m.printWait(e)
		}
		if e.Kind == event.Waiting {
			if step.waiting = e; e.Relapsed {
				step.settled = event.Event{}
				m.open++
			}
			break
		}
		step.settled = e
		m.open--
	case event.Explained:
		m.emit(Explained, Waiting, e)
	case event.Retried:
		if len(e.Causes) > 0 { // why the object in the way is not gone
			m.emit(Explained, Waiting, e)
		}
	}
	for len(m.rounds) > 0 && m.printWrites() && m.printWaits() {
		m.rounds, m.current = m.rounds[1:], roundProgress{}
	}
	if m.open == 0 && !m.ended {
		m.ended = true
		m.recordPhase(true)
	}
}

func (m *phasePrinter) phaseOf(step int) Phase {
	if op := m.state.Plan.Steps[step].Op; op.Removes() || op == plan.AwaitDeleted {
		return Removing
	}
	return Applying
}

// printWait prints the wait for a step that was written or should have been.
func (m *phasePrinter) printWait(e event.Event) {
	if m.options.Waits &&
		(m.steps[e.Step].acted.Kind != "" || m.options.Unstarted && e.Kind == event.Settled) {
		m.emit(Awaited, Waiting, e)
	}
}

// printWrites prints the writes of the first round and reports whether all have ended. A round in
// which no write began has no phases.
func (m *phasePrinter) printWrites() bool {
	round := m.rounds[0]
	if m.current.phase == Waiting {
		return true
	}
	for ; m.current.acted < len(round); m.current.acted++ {
		i := round[m.current.acted]
		if m.steps[i].acted.Kind == "" {
			if m.steps[i].settled.Kind == "" {
				return false
			}
			continue // interrupted
		}
		if m.current.phase == "" {
			m.current.phase = m.phaseOf(i)
			m.mark(Started, m.current.phase)
		}
		m.emit(Acted, m.current.phase, m.steps[i].acted)
	}
	return true
}

// printWaits prints the waits of the first round once all its writes have ended, and reports
// whether the waits have ended.
func (m *phasePrinter) printWaits() bool {
	round := m.rounds[0]
	if m.current.phase != Waiting {
		for _, i := range round {
			if m.options.Waits && m.steps[i].waiting.Kind == "" && m.steps[i].settled.Kind == "" {
				return false // its next event is still to come
			}
		}
		if m.current.phase == "" {
			for _, i := range round {
				m.printWait(m.steps[i].settled)
			}
			return true
		}
		m.mark(Finished, m.current.phase)
		if !m.options.Waits {
			return true
		}
		m.current.phase = Waiting
		m.mark(Started, Waiting)
		for _, i := range round {
			if m.steps[i].settled.Kind != "" {
				m.printWait(m.steps[i].settled)
			} else {
				m.printWait(m.steps[i].waiting)
			}
		}
	}
	for _, i := range round {
		if m.steps[i].settled.Kind == "" {
			return false
		}
	}
	m.mark(Finished, Waiting)
	return true
}

// Close ends the run. It prints no summary if the run itself failed.
func (m *phasePrinter) Close(failed error) error {
	m.recordPhase(false)
	if failed == nil {
		if !m.ended {
			m.recordPhase(true)
			m.recordPhase(false)
		}
		m.summarize()
	}
	return wrapWrite(m.err)
}

func (m *phasePrinter) summarize() {
	if m.state.Applies.Acted > 0 {
		m.mark(Summarized, Applying)
	}
	if m.state.Removes.Acted > 0 {
		m.mark(Summarized, Removing)
	}
	if m.options.Waits &&
		(m.state.Waits.Attempted() > 0 || m.options.Unstarted && m.state.Waits.Interrupted > 0) {
		m.mark(Summarized, Waiting)
	}
}
