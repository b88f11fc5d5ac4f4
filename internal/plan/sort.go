package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/graph"
)

// Sort returns the plan with the given steps in execution order, for dialects that build steps
// themselves. Needs and After are indexes into the given steps, in any order; in the plan they are
// rewritten, ascending and each once. Of several steps that could come next, the one of the lowest
// rank comes first, then the one given first. The given steps are not changed, and nothing else is
// set in the plan.
//
// A cycle and an index out of range are errors.
func Sort(steps []Step) (*Plan, error) {
	edges := make([][]int, len(steps))
	for i, step := range steps {
		edges[i] = step.Needs
		if len(step.Needs) == 0 {
			edges[i] = step.After
		} else if len(step.After) > 0 {
			edges[i] = slices.Concat(step.Needs, step.After)
		}
		for _, j := range edges[i] {
			if j < 0 || j >= len(steps) {
				return nil, fmt.Errorf("lay out steps: %s waits for step %d of %d",
					stepName(steps, i), j, len(steps))
			}
		}
	}
	next := func(i int) []int { return edges[i] }
	order := graph.Sort(len(steps), next, func(a, b int) bool {
		return cmp.Or(cmp.Compare(steps[a].Rank, steps[b].Rank), cmp.Compare(a, b)) < 0
	})
	if len(order) < len(steps) {
		return nil, cycleError(steps, graph.Cycle(len(steps), next))
	}
	position := make([]int, len(steps))
	for k, i := range order {
		position[i] = k
	}
	sorted := make([]Step, len(steps))
	for k, i := range order {
		step := steps[i]
		step.Needs, step.After = positions(step.Needs, position), positions(step.After, position)
		sorted[k] = step
	}
	return &Plan{Steps: sorted}, nil
}

// positions returns the places of steps in the plan, ascending and each once.
func positions(steps, position []int) []int {
	if len(steps) == 0 {
		return nil
	}
	places := make([]int, len(steps))
	for k, i := range steps {
		places[k] = position[i]
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// cycleError returns the error for a path of steps that ends in a cycle.
func cycleError(steps []Step, path []int) error {
	last := len(path) - 1
	var names []string
	for _, i := range path[slices.Index(path, path[last]):last] {
		if steps[i].Op.IsObject() {
			names = append(names, stepName(steps, i))
		}
	}
	if len(names) == 0 {
		return errors.New("lay out steps: joins wait for each other")
	}
	names = append(names, names[0])
	return fmt.Errorf("lay out steps: they wait for each other: %s", strings.Join(names, " -> "))
}

// stepName returns the object of a step or, if it has none, its operation and index.
func stepName(steps []Step, i int) string {
	if steps[i].Op.IsObject() {
		return steps[i].Ref.String()
	}
	return fmt.Sprintf("%s %d", steps[i].Op, i)
}
