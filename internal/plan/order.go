package plan

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/muster-deploy/muster/internal/object"
)

// orderedSteps lays the nodes out as steps: what is applied, then what is removed, each part in an order in which needs come first
// and ranks decide among the rest. What is deleted waits for all that is applied.
func (b *builder) orderedSteps() []Step {
	b.setRanks()
	applies, removes := b.partition()
	position := slices.Repeat([]int{-1}, len(b.nodes))
	steps := b.appendRounds(nil, b.rounds(applies), position)
	join := -1
	if len(applies) > 0 && slices.ContainsFunc(removes, func(i int) bool { return b.in.Policy.Waves || b.nodes[i].Op == Delete }) {
		join = len(steps)
		steps = append(steps, b.joinApplied(position, applies))
	}
	start := len(steps)
	rounds := b.rounds(removes)
	slices.Reverse(rounds)
	steps = b.appendRounds(steps, rounds, position)
	for i := start; i < len(steps) && join >= 0; i++ {
		switch { // join comes before all that is removed
		case steps[i].Op == Delete:
			steps[i].Needs = slices.Insert(steps[i].Needs, 0, join)
		case steps[i].Op.Removes() && b.in.Policy.Waves:
			steps[i].After = slices.Insert(steps[i].After, 0, join)
		}
	}
	return b.recordNamespaceLast(steps)
}

// setRanks gives every node its place among the kinds; what is removed ranks behind all that is applied, in reverse.
func (b *builder) setRanks() {
	ranks, highest := b.in.Policy.Order.ranks(), b.in.Policy.Order.highestRank()
	for i := range b.nodes {
		n := &b.nodes[i]
		rank, ok := ranks[n.Ref.GroupKind()]
		if !ok {
			rank = len(b.in.Policy.Order.First)
		}
		if n.Op.Removes() {
			rank = 2*highest + 1 - rank
		}
		if n.Op == Delete && n.Ref == b.in.Policy.RecordNamespace {
			rank = 2*highest + 2
		}
		n.Rank = rank
	}
}

func (b *builder) partition() (applies, removes []int) {
	for i, n := range b.nodes {
		if n.Op.Removes() {
			removes = append(removes, i)
		} else {
			applies = append(applies, i)
		}
	}
	return applies, removes
}

// joinApplied makes the step that comes after all that is applied.
func (b *builder) joinApplied(position, applies []int) Step {
	step := Step{Op: Guard, Reason: "nothing is pruned after a failure"}
	if b.in.Policy.PruneAfterFailure {
		step = Step{Op: Barrier}
	}
	for _, i := range applies {
		step.After = append(step.After, position[i])
	}
	slices.Sort(step.After)
	return step
}

// recordNamespaceLast makes the deletion of the namespace that holds the record wait for all others to succeed: with the namespace
// goes the record, so nothing may be left that only the record knows: what does not go with the namespace is waited for,
// whatever it says. Orphans are not in the record any more.
func (b *builder) recordNamespaceLast(steps []Step) []Step {
	last := len(steps) - 1
	if last < 0 || steps[last].Op != Delete || steps[last].Ref != b.in.Policy.RecordNamespace {
		return steps
	}
	home := &steps[last]
	for i, s := range steps[:last] {
		steps[i].Wait = s.Wait || s.Op == Delete && s.Ref.Namespace != home.Ref.Name
		if (s.Op == Delete || s.Op == Keep) && !slices.Contains(home.Needs, i) {
			home.Needs = append(home.Needs, i)
		}
	}
	slices.Sort(home.Needs)
	return steps
}

// appendOrdered appends the nodes in order and notes where each came to stand. What they need is laid out already or among them.
func (b *builder) appendOrdered(steps []Step, members []int, position []int) []Step {
	blocked := make(map[int]int, len(members))
	dependants := map[int][]int{}
	queue := &nodeQueue{nodes: b.nodes}
	for _, i := range members {
		needs := slices.Compact(slices.Sorted(slices.Values(b.nodes[i].needs)))
		b.nodes[i].needs = needs
		for _, j := range needs {
			if position[j] < 0 {
				blocked[i]++
				dependants[j] = append(dependants[j], i)
			}
		}
		if blocked[i] == 0 {
			queue.members = append(queue.members, i)
		}
	}
	heap.Init(queue)
	for queue.Len() > 0 {
		i := heap.Pop(queue).(int)
		position[i] = len(steps)
		step := b.nodes[i].Step
		for _, j := range b.nodes[i].needs {
			step.Needs = append(step.Needs, position[j])
		}
		slices.Sort(step.Needs)
		steps = append(steps, step)
		for _, k := range dependants[i] {
			if blocked[k]--; blocked[k] == 0 {
				heap.Push(queue, k)
			}
		}
	}
	return steps
}

// nodeQueue is a heap of node indexes: lower rank first, then group, kind, namespace and name; among what is removed the
// later reference goes first.
type nodeQueue struct {
	nodes   []node
	members []int
}

func (q *nodeQueue) Len() int { return len(q.members) }

func (q *nodeQueue) Less(x, y int) bool {
	a, b := &q.nodes[q.members[x]], &q.nodes[q.members[y]]
	byRef := object.Compare(a.Ref, b.Ref)
	if a.Op.Removes() {
		byRef = -byRef
	}
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), byRef) < 0
}

func (q *nodeQueue) Swap(x, y int) { q.members[x], q.members[y] = q.members[y], q.members[x] }

func (q *nodeQueue) Push(x any) { q.members = append(q.members, x.(int)) }

func (q *nodeQueue) Pop() any {
	last := q.members[len(q.members)-1]
	q.members = q.members[:len(q.members)-1]
	return last
}
