package event

import "github.com/muster-deploy/muster/internal/plan"

// Summary counts the events of a run. The zero value is a run without events.
type Summary struct {
	Acted       map[plan.Op]map[Outcome]int // outcomes of the writes, by operation
	Settled     map[Outcome]int             // outcomes of the steps
	Interrupted bool                        // the run was interrupted before some steps ended
	Refused     int                         // objects left alone because they do not belong to the set
	// NotRecreated is the number of objects that were deleted to be recreated, and were not created.
	NotRecreated int
}

// Add counts one event.
func (s *Summary) Add(e Event) {
	switch e.Kind {
	case Acted:
		if s.Acted == nil {
			s.Acted = map[plan.Op]map[Outcome]int{}
		}
		if s.Acted[e.Op] == nil {
			s.Acted[e.Op] = map[Outcome]int{}
		}
		s.Acted[e.Op][e.Outcome]++
		if e.NotRecreated {
			s.NotRecreated++
		}
	case Waiting:
		if e.Relapsed {
			s.Settled[Succeeded]--
		}
	case Settled:
		if s.Settled == nil {
			s.Settled = map[Outcome]int{}
		}
		s.Settled[e.Outcome]++
		s.Interrupted = s.Interrupted || e.Outcome == Interrupted
	}
}

// Failures returns the number of steps that failed, timed out or were interrupted.
func (s *Summary) Failures() int {
	bad := 0
	for outcome, n := range s.Settled {
		if outcome.IsFailure() {
			bad += n
		}
	}
	return bad
}
