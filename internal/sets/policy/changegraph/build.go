package changegraph

import (
	"slices"
)

// target is the group that rules name, and the side of it on which they put their changes. Both
// decide which changes are members.
type target struct {
	group  string
	op     Op
	before bool
}

// ruleEdges is the edges that the rules of one target make, either the required or the optional
// ones: each waiter waits for each awaited node. Both lists are in the order of the nodes, each
// node once.
type ruleEdges struct {
	target
	optional         bool
	waiters, awaited []int
}

// inside returns the side with the members of the group. The other side has the changes with the
// rule.
func (b *ruleEdges) inside() *[]int {
	if b.before {
		return &b.waiters
	}
	return &b.awaited
}

func (b *ruleEdges) outside() *[]int {
	if b.before {
		return &b.awaited
	}
	return &b.waiters
}

type builder struct {
	nodes   []Node
	options Options
	sets    []ruleEdges
	index   map[target][2]int // of the sets, counted from 1: the required one and the optional one

	joins [][]int
	edges []edge
}

// edge makes one node wait for another, or for a join, which is numbered from the number of nodes
// on.
type edge struct{ from, to int }

// Build returns the dependencies of all changes. All required rules count, and the error is a
// *CycleError if they form a cycle. An edge of an optional rule is left out if it would close a
// cycle with the edges before it: rules of a higher weight come first, then the changes in their
// order.
func Build(nodes []Node, options Options) (*Graph, error) {
	b := &builder{nodes: nodes, options: options, index: map[target][2]int{}}
	b.collect()
	if !options.KeepCycles {
		if err := b.findCycle(); err != nil {
			return nil, err
		}
	}
	b.connectAll()
	return b.graph(), nil
}

// applies reports whether a change follows a rule.
func (n *Node) applies(rule Rule) bool { return n.Op == rule.Action }

// slot returns the place of required or optional edges in the index.
func slot(optional bool) int {
	if optional {
		return 1
	}
	return 0
}

// collect sorts all rules that apply into edge sets and adds the members of their groups.
func (b *builder) collect() {
	for i := range b.nodes {
		for _, rule := range b.nodes[i].Rules {
			if b.nodes[i].applies(rule) {
				side := b.ruleEdges(rule).outside()
				*side = appendOnce(*side, i)
			}
		}
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		op := n.Op
		awaited := op == Noop && n.Waits && b.options.AwaitUnchanged
		if awaited {
			op = Upsert
		}
		for _, group := range n.Groups {
			b.join(i, target{group, op, false})
			if !awaited {
				b.join(i, target{group, op, true})
			}
		}
	}
}

// ruleEdges returns the set of a rule, adding it if there is none.
func (b *builder) ruleEdges(rule Rule) *ruleEdges {
	at := target{rule.Group, rule.Target, rule.Before}
	known := b.index[at]
	if known[slot(rule.Optional)] == 0 {
		b.sets = append(b.sets, ruleEdges{target: at, optional: rule.Optional})
		known[slot(rule.Optional)] = len(b.sets)
		b.index[at] = known
	}
	return &b.sets[known[slot(rule.Optional)]-1]
}

// join adds a node to the groups of all sets with a target.
func (b *builder) join(node int, at target) {
	for _, k := range b.index[at] {
		if k > 0 {
			side := b.sets[k-1].inside()
			*side = appendOnce(*side, node)
		}
	}
}

// appendOnce appends a node to a list of ascending nodes if it is not the last one.
func appendOnce(list []int, node int) []int {
	if len(list) > 0 && list[len(list)-1] == node {
		return list
	}
	return append(list, node)
}

// connectAll makes the edges of all sets. Only edges within a strongly connected component of all
// rules together can close a cycle. All others are made in any order.
func (b *builder) connectAll() {
	numbers := components(len(b.nodes), b.sets)
	pending := optionalEdges{builder: b, components: numbers, members: map[[2]int][]int{}}
	for k := range b.sets {
		set := &b.sets[k]
		ids := sharedComponents(set, numbers)
		if !set.optional || len(ids) == 0 {
			b.connect(set.waiters, set.awaited)
			continue
		}
		b.connect(outside(set.waiters, numbers, ids), set.awaited)
		for _, component := range ids {
			waiters, _ := divide(set.waiters, numbers, component)
			_, others := divide(set.awaited, numbers, component)
			b.connect(waiters, others)
			pending.members[[2]int{k, component}], _ = divide(*set.inside(), numbers, component)
		}
	}
	pending.run()
}

// sharedComponents returns the components that have nodes on both sides of a set, ascending.
func sharedComponents(set *ruleEdges, numbers []int) []int {
	waiting := map[int]bool{}
	for _, i := range set.waiters {
		if numbers[i] > 0 {
			waiting[numbers[i]] = true
		}
	}
	var found []int
	for _, i := range set.awaited {
		if waiting[numbers[i]] {
			found = append(found, numbers[i])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// outside returns the nodes that are in none of some components.
func outside(nodes, numbers, among []int) []int {
	var others []int
	for _, i := range nodes {
		if _, ok := slices.BinarySearch(among, numbers[i]); !ok {
			others = append(others, i)
		}
	}
	return others
}

// divide separates the nodes of a component from the others.
func divide(nodes, numbers []int, component int) (within, others []int) {
	for _, i := range nodes {
		if numbers[i] == component {
			within = append(within, i)
		} else {
			others = append(others, i)
		}
	}
	return within, others
}

// connect makes all waiters wait for all awaited nodes, through a join where that takes fewer
// edges.
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

// graph returns the graph, with the edges sorted by their source.
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
