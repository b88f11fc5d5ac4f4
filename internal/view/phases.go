package view

import (
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Phase is what a part of a run is about.
type Phase string

// The phases. A run records what it is about to do, then applies and waits, removes and waits, and records the outcome.
const (
	Recording Phase = "recording"
	Applying  Phase = "applying"
	Removing  Phase = "removing"
	Waiting   Phase = "waiting"
)

// PhaseMark tells what a moment is.
type PhaseMark string

// The marks. Of a phase there is a Started and a Finished, and between them what became of its objects: Acted when it is
// over with their writes, Awaited when waiting for them begins or ends. StatusSeen and Explained may come at any time. Summarized comes
// at the end, once for each phase in which something happened.
const (
	Started    PhaseMark = "started"
	Finished   PhaseMark = "finished"
	Acted      PhaseMark = "acted"
	Awaited    PhaseMark = "awaited"
	StatusSeen PhaseMark = "seen"      // an object was seen in a new status
	Explained  PhaseMark = "explained" // an event of this kind
	Summarized PhaseMark = "summed"
)

// PhaseEvent is one thing to tell of a run. Event is zero where the moment concerns no object.
type PhaseEvent struct {
	Mark  PhaseMark
	Phase Phase
	Event event.Event
}

// PhaseOptions is how a run is told as moments.
type PhaseOptions struct {
	Rounds    bool // round by round: what comes early is held back, and in a phase the order of the plan holds where it can
	Waits     bool // the run waits, so waiting is told of
	Statuses  bool // new statuses are told of
	Unstarted bool // what an interrupt kept from beginning is told of, as waits that were interrupted
}

// Phases gives a printer that tells a run as moments, to a function that gets the board as of the last event. Its first
// error is the printer's. Without phases the moments of objects come as the events do, and only Recording has a beginning
// and an end.
func Phases(p *plan.Plan, t PhaseOptions, tell func(*RunState, PhaseEvent) error) Printer {
	m := &moments{telling: t, say: tell, board: NewRunState(p), steps: make([]stepEvents, len(p.Steps)), open: len(p.Refs())}
	if t.Rounds {
		m.rounds = p.Rounds()
	}
	m.record(!p.Destroys)
	return m
}

// stepEvents is what happened to a step; events are zero until they come.
type stepEvents struct {
	acted, waiting, settled event.Event
	seen                    ready.Status // told last
}

type moments struct {
	telling   PhaseOptions
	say       func(*RunState, PhaseEvent) error
	board     *RunState
	steps     []stepEvents
	open      int  // steps that have not settled
	recording bool // that phase has begun and is not over
	ended     bool // the run is over but for recording its outcome
	rounds    [][]int
	place     place // in the first of the rounds; those that are told are gone
	err       error
}

// place is how far a round is told.
type place struct {
	phase Phase // empty before its beginning
	acted int   // steps whose writes are told
}

func (m *moments) tell(mark PhaseMark, phase Phase) { m.about(mark, phase, event.Event{}) }

func (m *moments) about(mark PhaseMark, phase Phase, e event.Event) {
	if err := m.say(m.board, PhaseEvent{Mark: mark, Phase: phase, Event: e}); err != nil && m.err == nil {
		m.err = err
	}
}

// record tells that recording begins or is over.
func (m *moments) record(begins bool) {
	if m.recording == begins {
		return
	}
	m.recording = begins
	if begins {
		m.tell(Started, Recording)
	} else {
		m.tell(Finished, Recording)
	}
}

// Event takes one event in.
func (m *moments) Event(e event.Event) {
	m.board.Add(e)
	if !m.ended {
		m.record(false)
	}
	step := &m.steps[e.Step]
	if m.telling.Statuses && e.Status.State != "" && !step.seen.Same(e.Status) {
		step.seen = e.Status
		m.about(StatusSeen, Waiting, e)
	}
	switch e.Kind {
	case event.Acted:
		step.acted = e
		if !m.telling.Rounds {
			m.about(Acted, m.phaseOf(e.Step), e)
		}
	case event.Waiting, event.Settled:
		if !m.telling.Rounds || m.place.phase == Waiting {
			m.awaited(e)
		}
		if e.Kind == event.Waiting {
			step.waiting = e
			break
		}
		step.settled = e
		m.open--
	case event.Explained:
		m.about(Explained, Waiting, e)
	}
	for len(m.rounds) > 0 && m.act() && m.await() {
		m.rounds, m.place = m.rounds[1:], place{}
	}
	if m.open == 0 && !m.ended {
		m.ended = true
		m.record(true)
	}
}

func (m *moments) phaseOf(step int) Phase {
	if m.board.Plan.Steps[step].Op.Removes() {
		return Removing
	}
	return Applying
}

// awaited tells of the wait for a step that was written, or was meant to be.
func (m *moments) awaited(e event.Event) {
	if m.telling.Waits && (m.steps[e.Step].acted.Kind != "" || m.telling.Unstarted && e.Kind == event.Settled) {
		m.about(Awaited, Waiting, e)
	}
}

// act tells of the writes of the first round and reports whether all are over. A round of which nothing began has no phases.
func (m *moments) act() bool {
	round := m.rounds[0]
	if m.place.phase == Waiting {
		return true
	}
	for ; m.place.acted < len(round); m.place.acted++ {
		i := round[m.place.acted]
		if m.steps[i].acted.Kind == "" {
			if m.steps[i].settled.Kind == "" {
				return false
			}
			continue // it was interrupted
		}
		if m.place.phase == "" {
			m.place.phase = m.phaseOf(i)
			m.tell(Started, m.place.phase)
		}
		m.about(Acted, m.place.phase, m.steps[i].acted)
	}
	return true
}

// await tells, when all writes of the first round are over, how the waits begin, and reports whether they have ended.
func (m *moments) await() bool {
	round := m.rounds[0]
	if m.place.phase != Waiting {
		for _, i := range round {
			if m.telling.Waits && m.steps[i].waiting.Kind == "" && m.steps[i].settled.Kind == "" {
				return false // that is told next
			}
		}
		if m.place.phase == "" {
			for _, i := range round {
				m.awaited(m.steps[i].settled)
			}
			return true
		}
		m.tell(Finished, m.place.phase)
		if !m.telling.Waits {
			return true
		}
		m.place.phase = Waiting
		m.tell(Started, Waiting)
		for _, i := range round {
			if m.steps[i].settled.Kind != "" {
				m.awaited(m.steps[i].settled)
			} else {
				m.awaited(m.steps[i].waiting)
			}
		}
	}
	for _, i := range round {
		if m.steps[i].settled.Kind == "" {
			return false
		}
	}
	m.tell(Finished, Waiting)
	return true
}

// Close tells the end. A run that failed, which is an error of the run and not of its steps, is not summed up.
func (m *moments) Close(failed error) error {
	m.record(false)
	if failed == nil {
		if !m.ended {
			m.record(true)
			m.record(false)
		}
		m.sum()
	}
	return wrapWrite(m.err)
}

func (m *moments) sum() {
	if m.board.Applies.Acted > 0 {
		m.tell(Summarized, Applying)
	}
	if m.board.Removes.Acted > 0 {
		m.tell(Summarized, Removing)
	}
	if m.telling.Waits && (m.board.Waits.Attempted() > 0 || m.telling.Unstarted && m.board.Waits.Interrupted > 0) {
		m.tell(Summarized, Waiting)
	}
}
