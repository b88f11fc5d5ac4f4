package event

import "github.com/muster-deploy/muster/internal/plan"

// Summary is a run folded into numbers. Its zero value is a run in which nothing happened.
type Summary struct {
	Acted       map[plan.Op]map[Outcome]int // how the writes went, by what was done
	Settled     map[Outcome]int             // how the steps ended
	Interrupted bool                        // the run was told to end, which cut steps short
}

// Add folds one event in.
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
	case Settled:
		if s.Settled == nil {
			s.Settled = map[Outcome]int{}
		}
		s.Settled[e.Outcome]++
		s.Interrupted = s.Interrupted || e.Outcome == Interrupted
	}
}

// Failures is the number of steps that failed, timed out or were interrupted.
func (s *Summary) Failures() int {
	bad := 0
	for outcome, n := range s.Settled {
		if outcome.IsFailure() {
			bad += n
		}
	}
	return bad
}
