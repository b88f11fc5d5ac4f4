package changegraph

import (
	"cmp"
	"errors"
	"slices"
)

// circle looks for changes that wait for each other by required rules.
func (b *builder) circle() error {
	var required []bundle
	for _, bundle := range b.bundles {
		if !bundle.optional {
			required = append(required, bundle)
		}
	}
	knots := newWeb(len(b.nodes), required).knots()
	if slices.Max(append(knots, 0)) == 0 {
		return nil
	}
	w := &walk{builder: b, before: map[target][]step{}, state: make([]state, len(b.nodes))}
	w.collect()
	for i := range b.nodes {
		if chain := w.visit(i); chain != nil {
			slices.Reverse(chain)
			return &CycleError{chain}
		}
	}
	return errors.New("order changes: required rules make a circle that cannot be told")
}

// walk follows required rules in the order in which kapp does, so that of several circles the same one is told. It is only
// taken when there is one.
type walk struct {
	*builder
	before map[target][]step // the rules that put changes before a group
	state  []state
}

type state int

const (
	unknown state = iota
	onPath
	done
)

// step is one rule, and what it leads to.
type step struct {
	weight, node, number int
	to                   []int
}

func (w *walk) collect() {
	for i := range w.nodes {
		for number, rule := range w.nodes[i].Rules {
			if w.nodes[i].applies(rule) && !rule.Optional && rule.Before {
				at := target{rule.Group, rule.Target, true}
				w.before[at] = append(w.before[at], step{rule.Weight, i, number, []int{i}})
			}
		}
	}
}

// steps gives what a node waits for: rules of a higher weight come first, then those of earlier changes.
func (w *walk) steps(i int) []step {
	n := &w.nodes[i]
	var all []step
	for number, rule := range n.Rules {
		if n.applies(rule) && !rule.Optional && !rule.Before {
			members := w.bundles[w.index[target{rule.Group, rule.Target, false}][slot(false)]-1].awaited
			all = append(all, step{rule.Weight, i, number, members})
		}
	}
	for _, group := range n.Groups {
		all = append(all, w.before[target{group, n.Op, true}]...)
	}
	slices.SortStableFunc(all, func(x, y step) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.node, y.node), cmp.Compare(x.number, y.number))
	})
	return all
}

// visit gives the names from a change that is met again back to this one, or nothing if no circle is found.
func (w *walk) visit(i int) []string {
	switch w.state[i] {
	case done:
		return nil
	case onPath:
		return []string{w.nodes[i].Name}
	}
	w.state[i] = onPath
	for _, s := range w.steps(i) {
		for _, j := range s.to {
			if chain := w.visit(j); chain != nil {
				return append(chain, w.nodes[i].Name)
			}
		}
	}
	w.state[i] = done
	return nil
}
