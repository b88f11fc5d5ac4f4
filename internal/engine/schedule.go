package engine

import (
	"container/heap"
	"slices"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// schedule decides which step may start, in topological order. It does no I/O and uses no clock.
// One goroutine reports outcomes to it and requests the next step.
type schedule struct {
	steps         []plan.Step
	state         []phase
	outcome       []event.Outcome
	edges         []int        // number of unsettled dependencies of a step
	dependants    [][]int      // dependents of a step
	blockedByStep []bool       // steps that never started because of another one
	by            map[int]int  // for guards: the step that blocked it
	released      map[int]bool // steps whose dependents may start
	startable     stepQueue
	stuck         []blocked
	writing       map[int]int // number of steps being written, by rank
	unsettled     int
}

// phase is the progress of a step.
type phase int

const (
	pending phase = iota
	writing       // returned by next
	written       // reported by acted
	settled
	stopped // blocked: it never starts; the caller settles it
)

// blocked is a step that never starts because another one did not succeed.
type blocked struct{ step, by int }

func newSchedule(steps []plan.Step) *schedule {
	s := &schedule{
		steps:         steps,
		state:         make([]phase, len(steps)),
		outcome:       make([]event.Outcome, len(steps)),
		edges:         make([]int, len(steps)),
		dependants:    make([][]int, len(steps)),
		blockedByStep: make([]bool, len(steps)),
		by:            map[int]int{},
		released:      map[int]bool{},
		writing:       map[int]int{},
		unsettled:     len(steps),
	}
	s.startable.steps = steps
	for i, step := range steps {
		s.edges[i] = len(step.Needs) + len(step.After)
		for _, j := range step.Needs {
			s.dependants[j] = append(s.dependants[j], i)
		}
		for _, j := range step.After {
			s.dependants[j] = append(s.dependants[j], i)
		}
		if s.edges[i] == 0 {
			s.startable.members = append(s.startable.members, i)
		}
	}
	heap.Init(&s.startable)
	return s
}

// next returns a step that may start now: one whose edges have settled, of the lowest rank,
// unless a step of a lower rank is still being written.
func (s *schedule) next() (int, bool) {
	for s.startable.Len() > 0 {
		i := s.startable.members[0]
		if s.state[i] != pending {
			heap.Pop(&s.startable) // blocked after it was queued
			continue
		}
		for rank := range s.writing {
			if rank < s.steps[i].Rank {
				return 0, false
			}
		}
		heap.Pop(&s.startable)
		s.take(i)
		return i, true
	}
	return 0, false
}

// take starts a step even if its dependencies have not settled.
func (s *schedule) take(i int) {
	if s.state[i] == writing {
		return
	}
	s.state[i] = writing
	s.writing[s.steps[i].Rank]++
}

// acted records the end of the write of a step, whatever the outcome.
func (s *schedule) acted(i int) {
	if s.state[i] != writing {
		return
	}
	s.state[i] = written
	rank := s.steps[i].Rank
	if s.writing[rank]--; s.writing[rank] == 0 {
		delete(s.writing, rank)
	}
}

// settle settles a step, once, and ends the run if its failure does that.
func (s *schedule) settle(i int, outcome event.Outcome) {
	if s.state[i] == settled {
		return
	}
	s.acted(i)
	s.state[i], s.outcome[i] = settled, outcome
	s.unsettled--
	if s.released[i] {
		delete(s.released, i)
		return
	}
	for _, k := range s.dependants[i] {
		s.edges[k]--
		if s.state[k] != pending {
			continue
		}
		if outcome != event.Succeeded && needs(s.steps[k], i) {
			s.block(k, i)
			continue
		}
		if s.edges[k] == 0 {
			heap.Push(&s.startable, k)
		}
	}
}

// block marks a step that never starts because of another one. For a step that joins others, the
// reason is one of these.
func (s *schedule) block(k, by int) {
	if first, ok := s.by[by]; ok {
		by = first
	}
	if !s.steps[k].Op.IsObject() {
		s.by[k] = by
	}
	s.state[k], s.blockedByStep[k] = stopped, true
	s.stuck = append(s.stuck, blocked{step: k, by: by})
}

// letsPrune reports whether a step is the last one that a join waits for which deletions need.
func (s *schedule) letsPrune(i int) bool {
	return slices.ContainsFunc(s.dependants[i], func(k int) bool {
		return s.state[k] == pending && s.edges[k] == 1 && !s.steps[k].Op.IsObject() &&
			slices.ContainsFunc(s.dependants[k], func(d int) bool { return s.steps[d].Op.Removes() })
	})
}

// reopen takes back that a step has succeeded. Those of its dependents that have not started wait
// for it again.
func (s *schedule) reopen(i int) {
	s.state[i], s.outcome[i] = written, ""
	s.unsettled++
	for _, k := range s.dependants[i] {
		s.edges[k]++
	}
}

// release lets the dependents of a step start as if it had succeeded. It reports false if it has
// done so before.
func (s *schedule) release(i int) bool {
	if s.released[i] {
		return false
	}
	s.released[i] = true
	for _, k := range s.dependants[i] {
		if s.edges[k]--; s.edges[k] == 0 && s.state[k] == pending {
			heap.Push(&s.startable, k)
		}
	}
	return true
}

// blocked returns, once each, the steps that never start. The caller settles them.
func (s *schedule) blocked() (blocked, bool) {
	if len(s.stuck) == 0 {
		return blocked{}, false
	}
	first := s.stuck[0]
	s.stuck = s.stuck[1:]
	return first, true
}

// joinOutcome returns the outcome of a step that joins others: a guard fails if one of them failed
// or was blocked. A step that was skipped for its own sake is no failure.
func (s *schedule) joinOutcome(i int) event.Outcome {
	if s.steps[i].Op == plan.Guard &&
		(s.firstBefore(i, s.failed) >= 0 || s.firstBefore(i, s.isBlocked) >= 0) {
		return event.Failed
	}
	return event.Succeeded
}

// firstBefore returns the first step before a guard for which so is true, -1 if there is none.
func (s *schedule) firstBefore(guard int, so func(int) bool) int {
	if at := slices.IndexFunc(s.steps[guard].After, so); at >= 0 {
		return s.steps[guard].After[at]
	}
	return -1
}

// blockerOf returns the step that explains why another one blocks those that follow it: of a guard
// without a reason of its own, that is the first one before it that failed, or never started.
func (s *schedule) blockerOf(by int) int {
	for s.steps[by].Op == plan.Guard && s.steps[by].Reason == "" {
		first := s.firstBefore(by, s.failed)
		if first < 0 {
			first = s.firstBefore(by, s.isBlocked)
		}
		if first < 0 {
			break
		}
		by = first
	}
	return by
}

func (s *schedule) failed(i int) bool { return s.outcome[i].IsFailure() }

func (s *schedule) isBlocked(i int) bool { return s.blockedByStep[i] }

// done reports whether every step has settled.
func (s *schedule) done() bool { return s.unsettled == 0 }

func needs(step plan.Step, i int) bool {
	_, found := slices.BinarySearch(step.Needs, i) // Build sorts them
	return found
}

// stepQueue is a heap of steps: lower rank first, then the order of the plan.
type stepQueue struct {
	steps   []plan.Step
	members []int
}

func (q *stepQueue) Len() int { return len(q.members) }

func (q *stepQueue) Less(x, y int) bool {
	i, j := q.members[x], q.members[y]
	if q.steps[i].Rank != q.steps[j].Rank {
		return q.steps[i].Rank < q.steps[j].Rank
	}
	return i < j
}

func (q *stepQueue) Swap(x, y int) { q.members[x], q.members[y] = q.members[y], q.members[x] }

func (q *stepQueue) Push(x any) { q.members = append(q.members, x.(int)) }

func (q *stepQueue) Pop() any {
	last := q.members[len(q.members)-1]
	q.members = q.members[:len(q.members)-1]
	return last
}
