package changegraph

import (
	"cmp"
	"slices"
)

// greedy makes the edges of optional rules within knots one by one, as long as they close no circle. The time that it takes
// grows with the number of such rules times the size of their knot.
type greedy struct {
	*builder
	knots   []int
	members map[[2]int][]int // of the groups of optional bundles, by bundle and knot

	awaits, awaitedBy [][]int // the edges within knots, of nodes and required bundles as in a web
	seen              []int   // the round in which a vertex was seen last
	round             int
}

// choice is an optional rule of a node that has members of its group in the same knot.
type choice struct {
	node    int
	rule    Rule
	members []int
}

func (g *greedy) run() {
	if len(g.members) == 0 {
		return
	}
	g.require()
	for _, c := range g.choices() {
		g.round++
		if c.rule.Before {
			g.reach(c.node, g.awaits)
		} else {
			g.reach(c.node, g.awaitedBy)
		}
		for _, member := range c.members { // one that was reached would close a circle; the node itself always is
			switch {
			case g.seen[member] == g.round:
			case c.rule.Before:
				g.wait(member, c.node)
			default:
				g.wait(c.node, member)
			}
		}
	}
}

// require fills in the edges of required rules.
func (g *greedy) require() {
	size := len(g.nodes) + len(g.bundles)
	g.awaits, g.awaitedBy, g.seen = make([][]int, size), make([][]int, size), make([]int, size)
	for k := range g.bundles {
		v := len(g.nodes) + k
		if g.bundles[k].optional || g.knots[v] == 0 {
			continue
		}
		for _, i := range g.bundles[k].waiters {
			g.link(i, v)
		}
		for _, j := range g.bundles[k].awaited {
			g.link(v, j)
		}
	}
}

// link notes an edge if it lies within a knot.
func (g *greedy) link(from, to int) {
	if g.knots[from] == g.knots[to] {
		g.awaits[from] = append(g.awaits[from], to)
		g.awaitedBy[to] = append(g.awaitedBy[to], from)
	}
}

// choices gives the optional rules in the order in which they may choose.
func (g *greedy) choices() []choice {
	var all []choice
	for i := range g.nodes {
		for _, rule := range g.nodes[i].Rules {
			if !rule.Optional || !g.nodes[i].applies(rule) {
				continue
			}
			k := g.index[target{rule.Group, rule.Target, rule.Before}][slot(true)] - 1
			if members := g.members[[2]int{k, g.knots[i]}]; len(members) > 0 {
				all = append(all, choice{i, rule, members})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y choice) int { return cmp.Compare(y.rule.Weight, x.rule.Weight) })
	return all
}

// reach marks what can be reached from a vertex, and the vertex itself, as seen in this round.
func (g *greedy) reach(from int, next [][]int) {
	g.seen[from] = g.round
	open := []int{from}
	for len(open) > 0 {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		for _, w := range next[v] {
			if g.seen[w] != g.round {
				g.seen[w] = g.round
				open = append(open, w)
			}
		}
	}
}

// wait makes an edge.
func (g *greedy) wait(from, to int) {
	g.link(from, to)
	g.edges = append(g.edges, edge{from, to})
}
