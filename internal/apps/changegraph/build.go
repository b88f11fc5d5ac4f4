package changegraph

import (
	"slices"
)

// target is the group that rules aim at, and on which side of it they put their changes. Who counts as a member depends on
// both.
type target struct {
	group  string
	op     Op
	before bool
}

// bundle is all edges that the rules with one target make, either the required or the optional ones: each waiter waits for each
// of the awaited. Both lists are in the order of the nodes, each node once.
type bundle struct {
	target
	optional         bool
	waiters, awaited []int
}

// inside is the side of a bundle on which the members of the group are, outside the one with the changes that have the rule.
func (b *bundle) inside() *[]int {
	if b.before {
		return &b.waiters
	}
	return &b.awaited
}

func (b *bundle) outside() *[]int {
	if b.before {
		return &b.awaited
	}
	return &b.waiters
}

type builder struct {
	nodes   []Node
	options Options
	bundles []bundle
	index   map[target][2]int // of the bundles, counted from 1: the required one and the optional one

	joins [][]int
	edges []edge
}

// edge says that one node waits for another one, or for a join, which is counted from the number of nodes on.
type edge struct{ from, to int }

// Build finds what each change waits for. Rules that are required all count, and the error is a *CycleError if they make a
// circle. Of what optional rules ask for, an edge is left out if it would close a circle with those that are there before it:
// rules of a higher weight come first, then the changes in their order.
func Build(nodes []Node, options Options) (*Graph, error) {
	b := &builder{nodes: nodes, options: options, index: map[target][2]int{}}
	b.collect()
	if err := b.circle(); err != nil {
		return nil, err
	}
	b.connectAll()
	return b.graph(), nil
}

// applies reports whether a change follows a rule.
func (n *Node) applies(rule Rule) bool { return n.Op == rule.Action }

// slot tells required from optional in the index.
func slot(optional bool) int {
	if optional {
		return 1
	}
	return 0
}

// collect sorts all rules that apply into bundles and looks for the members of their groups.
func (b *builder) collect() {
	for i := range b.nodes {
		for _, rule := range b.nodes[i].Rules {
			if b.nodes[i].applies(rule) {
				side := b.bundle(rule).outside()
				*side = appendOnce(*side, i)
			}
		}
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		op := n.Op
		held := op == Noop && n.Waits && b.options.AwaitUnchanged
		if held {
			op = Upsert
		}
		for _, group := range n.Groups {
			b.join(i, target{group, op, false})
			if !held {
				b.join(i, target{group, op, true})
			}
		}
	}
}

// bundle gives the bundle that a rule belongs to.
func (b *builder) bundle(rule Rule) *bundle {
	at := target{rule.Group, rule.Target, rule.Before}
	known := b.index[at]
	if known[slot(rule.Optional)] == 0 {
		b.bundles = append(b.bundles, bundle{target: at, optional: rule.Optional})
		known[slot(rule.Optional)] = len(b.bundles)
		b.index[at] = known
	}
	return &b.bundles[known[slot(rule.Optional)]-1]
}

// join makes a node a member of the group of all bundles with a target.
func (b *builder) join(node int, at target) {
	for _, k := range b.index[at] {
		if k > 0 {
			side := b.bundles[k-1].inside()
			*side = appendOnce(*side, node)
		}
	}
}

// appendOnce appends a node to a list to which only this one and earlier nodes have been appended.
func appendOnce(list []int, node int) []int {
	if len(list) > 0 && list[len(list)-1] == node {
		return list
	}
	return append(list, node)
}

// connectAll makes the edges of all bundles. Only edges within a knot, a set of nodes that all rules together would have wait
// for each other, can close a circle; all others are made whatever their order.
func (b *builder) connectAll() {
	knots := newWeb(len(b.nodes), b.bundles).knots()
	greedy := greedy{builder: b, knots: knots, members: map[[2]int][]int{}}
	for k := range b.bundles {
		bundle := &b.bundles[k]
		clashes := clashes(bundle, knots)
		if !bundle.optional || len(clashes) == 0 {
			b.connect(bundle.waiters, bundle.awaited)
			continue
		}
		b.connect(outside(bundle.waiters, knots, clashes), bundle.awaited)
		for _, knot := range clashes {
			waiters, _ := divide(bundle.waiters, knots, knot)
			_, others := divide(bundle.awaited, knots, knot)
			b.connect(waiters, others)
			greedy.members[[2]int{k, knot}], _ = divide(*bundle.inside(), knots, knot)
		}
	}
	greedy.run()
}

// clashes gives the knots that have nodes on both sides of a bundle, ascending.
func clashes(bundle *bundle, knots []int) []int {
	waiting := map[int]bool{}
	for _, i := range bundle.waiters {
		if knots[i] > 0 {
			waiting[knots[i]] = true
		}
	}
	var found []int
	for _, i := range bundle.awaited {
		if waiting[knots[i]] {
			found = append(found, knots[i])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// outside gives the nodes that are in none of some knots.
func outside(nodes, knots, among []int) []int {
	var rest []int
	for _, i := range nodes {
		if _, ok := slices.BinarySearch(among, knots[i]); !ok {
			rest = append(rest, i)
		}
	}
	return rest
}

// divide tells the nodes of a knot from the others.
func divide(nodes, knots []int, knot int) (within, others []int) {
	for _, i := range nodes {
		if knots[i] == knot {
			within = append(within, i)
		} else {
			others = append(others, i)
		}
	}
	return within, others
}

// connect has all waiters wait for all that is awaited, through a join where that takes fewer edges.
func (b *builder) connect(waiters, awaited []int) {
	if len(waiters)*len(awaited) <= len(waiters)+len(awaited) {
		for _, i := range waiters {
			for _, j := range awaited {
				b.edges = append(b.edges, edge{i, j})
			}
		}
		return
	}
	join := len(b.nodes) + len(b.joins)
	b.joins = append(b.joins, awaited)
	for _, i := range waiters {
		b.edges = append(b.edges, edge{i, join})
	}
}

// graph sorts the edges by where they start.
func (b *builder) graph() *Graph {
	n := len(b.nodes)
	g := &Graph{Nodes: n, Needs: make([][]int, n+len(b.joins)), nodes: b.nodes}
	counts := make([]int, n)
	for _, e := range b.edges {
		counts[e.from]++
	}
	all := make([]int, len(b.edges))
	for i, count := range counts {
		g.Needs[i], all = all[:0:count], all[count:]
	}
	for _, e := range b.edges {
		g.Needs[e.from] = append(g.Needs[e.from], e.to)
	}
	for i := range n {
		slices.Sort(g.Needs[i])
		g.Needs[i] = slices.Compact(g.Needs[i])
	}
	for k, awaited := range b.joins {
		g.Needs[n+k] = awaited
	}
	return g
}
