package plan

import (
	"cmp"
	"slices"

	"github.com/muster-deploy/muster/internal/graph"
	"github.com/muster-deploy/muster/internal/object"
)

// orderedSteps returns the steps in order: first the applied nodes, then the removed ones. In each
// part needs come first, then ranks decide. Deletions wait for everything that is applied.
func (b *builder) orderedSteps() []Step {
	b.setRanks()
	applies, removes := b.partition()
	position := slices.Repeat([]int{-1}, len(b.nodes))
	steps := b.appendRounds(nil, b.rounds(applies), position)
	join := -1
	waits := func(i int) bool { return b.in.Policy.Waves || b.nodes[i].Op == Delete }
	if len(applies) > 0 && slices.ContainsFunc(removes, waits) {
		join = len(steps)
		steps = append(steps, b.joinApplied(position, applies))
	}
	start := len(steps)
	if customs := b.deletedCustoms(removes); len(customs) > 0 && !b.in.Policy.Waves {
		steps = b.appendCustomsFirst(steps, customs, removes, position)
	} else {
		rounds := b.rounds(removes)
		slices.Reverse(rounds)
		steps = b.appendRounds(steps, rounds, position)
	}
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

// deletedCustoms returns the nodes that delete custom resources whose definition is in the set.
func (b *builder) deletedCustoms(removes []int) []int {
	var customs []int
	definitions := b.definitions()
	for _, i := range removes {
		if _, ok := definitions[b.nodes[i].Ref.GroupKind()]; ok && b.nodes[i].Op == Delete {
			customs = append(customs, i)
		}
	}
	return customs
}

// appendCustomsFirst appends the steps of removed nodes. Their controller, if it is in the set,
// must be able to work until the custom resources are gone, because it removes their finalizers. So
// all other deletions wait for them, except those that they wait for.
func (b *builder) appendCustomsFirst(steps []Step, customs, removes, position []int) []Step {
	early := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if b.nodes[i].Op.Removes() && !early[i] {
			early[i] = true
			for _, j := range b.nodes[i].needs {
				visit(j)
			}
		}
	}
	for _, i := range customs {
		visit(i)
	}
	var first, rest []int
	for _, i := range removes {
		if early[i] {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	steps = b.appendOrdered(steps, first, position)
	waits := func(i int) bool {
		return b.nodes[i].Op == Delete && b.nodes[i].Ref.GroupKind() != DefinitionKind
	}
	if !slices.ContainsFunc(rest, waits) {
		return b.appendOrdered(steps, rest, position)
	}
	guard := controllerGuard()
	for _, i := range customs {
		guard.After = append(guard.After, position[i])
	}
	slices.Sort(guard.After)
	join := len(steps)
	steps = b.appendOrdered(append(steps, guard), rest, position)
	for k := join + 1; k < len(steps); k++ {
		if steps[k].Op == Delete {
			steps[k].Needs = append(steps[k].Needs, join)
			slices.Sort(steps[k].Needs)
		}
	}
	return steps
}

// setRanks sets the rank of every node by its kind. Removed nodes rank behind all applied ones, in
// reverse.
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

// pruneGuard returns the step that deletions need: it follows everything that is applied, and
// unless objects are pruned after a failure, too, it fails with that. Its After is empty.
func pruneGuard(afterFailure bool) Step {
	if afterFailure {
		return Step{Op: Barrier}
	}
	return Step{Op: Guard, Reason: "nothing is pruned after a failure"}
}

// controllerGuard returns the step that deletions need of what a controller may consist of: it
// follows the deletions of custom resources and fails with them. Its After is empty.
func controllerGuard() Step {
	return Step{Op: Guard, ReasonCode: ReasonStillThere,
		Reason: "custom resources still exist whose controller may need it"}
}

// joinApplied returns the step that follows everything that is applied.
func (b *builder) joinApplied(position, applies []int) Step {
	step := pruneGuard(b.in.Policy.PruneAfterFailure)
	for _, i := range applies {
		step.After = append(step.After, position[i])
	}
	slices.Sort(step.After)
	return step
}

// recordNamespaceLast makes the deletion of the record's namespace wait for all other deletions to
// succeed, because the record goes with it. Objects outside the namespace are then always waited
// for. Orphans are not in the record any more.
func (b *builder) recordNamespaceLast(steps []Step) []Step {
	last := len(steps) - 1
	if last < 0 || steps[last].Op != Delete || steps[last].Ref != b.in.Policy.RecordNamespace {
		return steps
	}
	home := &steps[last]
	needed := map[int]bool{}
	for _, i := range home.Needs {
		needed[i] = true
	}
	for i, s := range steps[:last] {
		steps[i].Wait = s.Wait || s.Op == Delete && s.Ref.Namespace != home.Ref.Name
		if (s.Op == Delete || s.Op == Keep) && !needed[i] {
			home.Needs = append(home.Needs, i)
		}
	}
	slices.Sort(home.Needs)
	return steps
}

// appendOrdered appends the steps of the members in order and stores their positions. Their needs
// have a position already or are members.
func (b *builder) appendOrdered(steps []Step, members []int, position []int) []Step {
	index := make(map[int]int, len(members))
	for k, i := range members {
		index[i] = k
	}
	edges := make([][]int, len(members))
	for k, i := range members {
		needs := slices.Compact(slices.Sorted(slices.Values(b.nodes[i].needs)))
		b.nodes[i].needs = needs
		for _, j := range needs {
			if position[j] < 0 {
				edges[k] = append(edges[k], index[j])
			}
		}
		for _, j := range b.nodes[i].after {
			if m, ok := index[j]; ok && position[j] < 0 {
				edges[k] = append(edges[k], m)
			}
		}
	}
	next := func(k int) []int { return edges[k] }
	less := func(x, y int) bool { return b.less(members[x], members[y]) }
	for _, k := range graph.Sort(len(members), next, less) {
		i := members[k]
		position[i] = len(steps)
		step := b.nodes[i].Step
		for _, j := range b.nodes[i].needs {
			step.Needs = append(step.Needs, position[j])
		}
		slices.Sort(step.Needs)
		for _, j := range b.nodes[i].after {
			if position[j] >= 0 {
				step.After = append(step.After, position[j])
			}
		}
		slices.Sort(step.After)
		steps = append(steps, step)
	}
	return steps
}

// less orders nodes by rank, then by group, kind, namespace and name, which is reversed for
// removals.
func (b *builder) less(x, y int) bool {
	m, n := &b.nodes[x], &b.nodes[y]
	byRef := object.Compare(m.Ref, n.Ref)
	if m.Op.Removes() {
		byRef = -byRef
	}
	return cmp.Or(cmp.Compare(m.Rank, n.Rank), byRef) < 0
}
