package changegraph

import (
	"cmp"
	"slices"

	"github.com/muster-deploy/muster/internal/graph"
)

// findCycle returns a *CycleError if required rules form a cycle.
func (b *builder) findCycle() error {
	var required []ruleEdges
	for _, set := range b.sets {
		if !set.optional {
			required = append(required, set)
		}
	}
	if slices.Max(append(components(len(b.nodes), required), 0)) == 0 {
		return nil
	}
	before := b.rulesBefore()
	path := graph.Cycle(len(b.nodes), func(i int) []int { return b.required(i, before) })
	chain := make([]string, len(path))
	for k, i := range path {
		chain[k] = b.nodes[i].Name
	}
	return &CycleError{chain}
}

// ruleTargets is a required rule, by the index of its change and its place there, and the changes
// that it makes another change wait for.
type ruleTargets struct {
	weight, node, number int
	targets              []int
}

// rulesBefore returns the required rules that put a change before a group, by that group.
func (b *builder) rulesBefore() map[target][]ruleTargets {
	before := map[target][]ruleTargets{}
	for i := range b.nodes {
		for number, rule := range b.nodes[i].Rules {
			if b.nodes[i].applies(rule) && !rule.Optional && rule.Before {
				at := target{rule.Group, rule.Target, true}
				before[at] = append(before[at], ruleTargets{rule.Weight, i, number, []int{i}})
			}
		}
	}
	return before
}

// required returns the changes that a change must wait for, in the order in which kapp follows
// them, so that of several cycles the same one is reported: rules of a higher weight come first,
// then those of earlier changes.
func (b *builder) required(i int, before map[target][]ruleTargets) []int {
	n := &b.nodes[i]
	var rules []ruleTargets
	for number, rule := range n.Rules {
		if n.applies(rule) && !rule.Optional && !rule.Before {
			k := b.index[target{rule.Group, rule.Target, false}][slot(false)] - 1
			rules = append(rules, ruleTargets{rule.Weight, i, number, b.sets[k].awaited})
		}
	}
	for _, group := range n.Groups {
		rules = append(rules, before[target{group, n.Op, true}]...)
	}
	slices.SortStableFunc(rules, func(x, y ruleTargets) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.node, y.node),
			cmp.Compare(x.number, y.number))
	})
	var targets []int
	for _, rule := range rules {
		targets = append(targets, rule.targets...)
	}
	return targets
}
