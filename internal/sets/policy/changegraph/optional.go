package changegraph

import (
	"cmp"
	"slices"
)

// optionalEdges makes the edges of optional rules within components one by one, unless they close a
// cycle. Its time grows with the number of such rules times the size of their component.
type optionalEdges struct {
	*builder
	components []int
	members    map[[2]int][]int // group members of optional sets, by set and component

	awaits, awaitedBy [][]int // edges within components, of nodes and required sets
	seen              []int   // the round in which a vertex was seen last
	round             int
}

// optionalRule is an optional rule of a node whose group has members in the same component.
type optionalRule struct {
	node    int
	rule    Rule
	members []int
}

func (g *optionalEdges) run() {
	if len(g.members) == 0 {
		return
	}
	g.require()
	for _, c := range g.pending() {
		g.round++
		if c.rule.Before {
			g.reach(c.node, g.awaits)
		} else {
			g.reach(c.node, g.awaitedBy)
		}
		for _, member := range c.members { // an edge to a reached node would close a cycle
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

// require adds the edges of required rules.
func (g *optionalEdges) require() {
	size := len(g.nodes) + len(g.sets)
	g.awaits, g.awaitedBy, g.seen = make([][]int, size), make([][]int, size), make([]int, size)
	for k := range g.sets {
		v := len(g.nodes) + k
		if g.sets[k].optional || g.components[v] == 0 {
			continue
		}
		for _, i := range g.sets[k].waiters {
			g.link(i, v)
		}
		for _, j := range g.sets[k].awaited {
			g.link(v, j)
		}
	}
}

// link adds an edge if it lies within a component.
func (g *optionalEdges) link(from, to int) {
	if g.components[from] == g.components[to] {
		g.awaits[from] = append(g.awaits[from], to)
		g.awaitedBy[to] = append(g.awaitedBy[to], from)
	}
}

// pending returns the optional rules in the order in which they choose.
func (g *optionalEdges) pending() []optionalRule {
	var all []optionalRule
	for i := range g.nodes {
		for _, rule := range g.nodes[i].Rules {
			if !rule.Optional || !g.nodes[i].applies(rule) {
				continue
			}
			k := g.index[target{rule.Group, rule.Target, rule.Before}][slot(true)] - 1
			if members := g.members[[2]int{k, g.components[i]}]; len(members) > 0 {
				all = append(all, optionalRule{i, rule, members})
			}
		}
	}
	slices.SortStableFunc(all,
		func(x, y optionalRule) int { return cmp.Compare(y.rule.Weight, x.rule.Weight) })
	return all
}

// reach marks a vertex and everything reachable from it as seen in this round.
func (g *optionalEdges) reach(from int, next [][]int) {
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
func (g *optionalEdges) wait(from, to int) {
	g.link(from, to)
	g.edges = append(g.edges, edge{from, to})
}
