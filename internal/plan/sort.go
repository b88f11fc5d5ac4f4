package plan

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sort puts steps that say themselves what they come after into execution order, for dialects that decide on their own. Needs and
// After are indexes into the steps as given, in any order; in the plan they are rewritten, ascending and without repetition. A
// step comes behind all those; of several that could come next it is the one of the lowest rank, then the one given first. Nothing
// but the steps is set in the plan, and the steps given are left as they are.
//
// Steps that wait for each other in a circle, and an index of no step, are an error.
func Sort(steps []Step) (*Plan, error) {
	l := &layout{steps: steps, blocked: make([]int, len(steps)), position: slices.Repeat([]int{-1}, len(steps))}
	if err := l.connect(); err != nil {
		return nil, err
	}
	heap.Init(l)
	laid := make([]Step, 0, len(steps))
	for l.Len() > 0 {
		i := heap.Pop(l).(int)
		l.position[i] = len(laid)
		step := steps[i]
		step.Needs, step.After = l.rewritten(step.Needs), l.rewritten(step.After)
		laid = append(laid, step)
		for _, k := range l.dependants(i) {
			if l.blocked[k]--; l.blocked[k] == 0 {
				heap.Push(l, k)
			}
		}
	}
	if len(laid) < len(steps) {
		return nil, l.circle()
	}
	return &Plan{Steps: laid}, nil
}

// layout is a heap of the indexes of steps that could come next.
type layout struct {
	steps    []Step
	blocked  []int // how often a step names others that are not laid out yet
	position []int // of each step in the plan; -1 as long as it is not laid out
	free     []int

	begin []int // of each step's part of all
	all   []int // steps that name each step
}

// connect finds out which steps name each step.
func (l *layout) connect() error {
	l.begin = make([]int, len(l.steps)+1)
	for i := range l.steps {
		for _, edges := range [][]int{l.steps[i].Needs, l.steps[i].After} {
			for _, j := range edges {
				if j < 0 || j >= len(l.steps) {
					return fmt.Errorf("lay out steps: %s waits for step %d of %d", l.name(i), j, len(l.steps))
				}
				l.begin[j+1]++
			}
			l.blocked[i] += len(edges)
		}
		if l.blocked[i] == 0 {
			l.free = append(l.free, i)
		}
	}
	for j := range l.steps {
		l.begin[j+1] += l.begin[j]
	}
	l.all = make([]int, l.begin[len(l.steps)])
	next := slices.Clone(l.begin)
	for i := range l.steps {
		for _, edges := range [][]int{l.steps[i].Needs, l.steps[i].After} {
			for _, j := range edges {
				l.all[next[j]] = i
				next[j]++
			}
		}
	}
	return nil
}

func (l *layout) dependants(i int) []int { return l.all[l.begin[i]:l.begin[i+1]] }

// rewritten gives the places of steps in the plan.
func (l *layout) rewritten(steps []int) []int {
	if len(steps) == 0 {
		return nil
	}
	places := make([]int, len(steps))
	for k, i := range steps {
		places[k] = l.position[i]
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// circle tells the objects of one circle among the steps that could not be laid out.
func (l *layout) circle() error {
	at := slices.Index(l.position, -1)
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = l.unlaid(at)
	}
	var names []string
	for _, i := range path[slices.Index(path, at):] {
		if l.steps[i].Op.IsObject() {
			names = append(names, l.name(i))
		}
	}
	if len(names) == 0 {
		return errors.New("lay out steps: joins wait for each other")
	}
	names = append(names, names[0])
	return fmt.Errorf("lay out steps: they wait for each other: %s", strings.Join(names, " -> "))
}

// unlaid gives the first step that a step names and that could not be laid out either.
func (l *layout) unlaid(i int) int {
	for _, j := range slices.Concat(l.steps[i].Needs, l.steps[i].After) {
		if l.position[j] < 0 {
			return j
		}
	}
	return i
}

// name calls a step by its object, or by its place if it has none.
func (l *layout) name(i int) string {
	if l.steps[i].Op.IsObject() {
		return l.steps[i].Ref.String()
	}
	return fmt.Sprintf("%s %d", l.steps[i].Op, i)
}

func (l *layout) Len() int { return len(l.free) }

func (l *layout) Less(x, y int) bool {
	a, b := l.free[x], l.free[y]
	return cmp.Or(cmp.Compare(l.steps[a].Rank, l.steps[b].Rank), cmp.Compare(a, b)) < 0
}

func (l *layout) Swap(x, y int) { l.free[x], l.free[y] = l.free[y], l.free[x] }

func (l *layout) Push(x any) { l.free = append(l.free, x.(int)) }

func (l *layout) Pop() any {
	last := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	return last
}
