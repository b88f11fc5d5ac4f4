// Package draw prints directed graphs of what waits for what: as a tree of text, as DOT, as Mermaid
// and as SVG.
//
// All forms leave out edges that others imply, and show the edges of cycles as such. The output
// depends on the graph alone. The package knows nothing about objects.
package draw

import (
	"slices"

	"github.com/muster-deploy/muster/internal/graph"
)

// Graph is a graph of nodes that wait for others.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Node is a node of a graph, in the order of Graph.Nodes.
type Node struct {
	Name    string
	Join    bool // it only joins others
	Removed bool // what it stands for is deleted

	// Class, Title and Link are used in drawings for pages alone: classes of CSS, what a pointer
	// shows, and an address.
	Class, Title, Link string
}

// Edge is an edge: node From waits for node To.
type Edge struct {
	From, To int
	Label    string // why; empty if that needs no words
	Class    string // of CSS, in drawings for pages
}

// maxReduced is the number of nodes above which implied edges are drawn too: to find them takes the
// square of it.
const maxReduced = 5000

// layout is what all forms need to know about a graph.
type layout struct {
	Graph
	edges  []Edge // without those that others imply; sorted by From and To
	cycles []bool // by edge: it is part of a cycle
	waits  [][]int
	stages []int // by node, from 1: one more than the latest that it waits for
	last   int   // the highest stage
}

// newLayout returns the layout of a graph.
func newLayout(g Graph) *layout {
	l := &layout{Graph: g, stages: make([]int, len(g.Nodes)), waits: make([][]int, len(g.Nodes))}
	all := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		all[e.From] = append(all[e.From], e.To)
	}
	components := graph.Components(len(g.Nodes), func(i int) []int { return all[i] })
	inCycle := func(from, to int) bool {
		return from == to || components[from] > 0 && components[from] == components[to]
	}
	for _, e := range g.Edges {
		if !inCycle(e.From, e.To) {
			l.waits[e.From] = append(l.waits[e.From], e.To)
		}
	}
	for i := range l.waits {
		slices.Sort(l.waits[i])
		l.waits[i] = slices.Compact(l.waits[i])
	}
	order := graph.Sort(len(g.Nodes), func(i int) []int { return l.waits[i] },
		func(a, b int) bool { return a < b })
	for _, i := range order {
		l.stages[i] = 1
		for _, j := range l.waits[i] {
			l.stages[i] = max(l.stages[i], l.stages[j]+1)
		}
		l.last = max(l.last, l.stages[i])
	}
	l.reduce(order)
	l.collect(inCycle)
	return l
}

// reduce leaves out of the nodes that a node waits for those for which another one of them waits.
func (l *layout) reduce(order []int) {
	if len(l.Nodes) > maxReduced {
		return
	}
	reached := make([]bits, len(l.Nodes)) // by node: all that it waits for, directly or not
	for _, i := range order {
		reached[i] = make(bits, (len(l.Nodes)+63)/64)
		// The later a node is, the more nodes it may imply.
		nodes := slices.SortedStableFunc(slices.Values(l.waits[i]), func(a, b int) int {
			return l.stages[b] - l.stages[a]
		})
		var kept []int
		for _, j := range nodes {
			if !reached[i].has(j) {
				kept = append(kept, j)
				reached[i].add(j)
				reached[i].addAll(reached[j])
			}
		}
		slices.Sort(kept)
		l.waits[i] = kept
	}
}

// collect collects the edges that are drawn.
func (l *layout) collect(inCycle func(from, to int) bool) {
	seen := map[[2]int]bool{}
	for _, e := range l.Edges {
		cycle := inCycle(e.From, e.To)
		if !cycle && !slices.Contains(l.waits[e.From], e.To) {
			continue
		}
		if pair := [2]int{e.From, e.To}; !seen[pair] {
			seen[pair] = true
			l.edges = append(l.edges, e)
		}
	}
	slices.SortStableFunc(l.edges, func(a, b Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	for _, e := range l.edges {
		l.cycles = append(l.cycles, inCycle(e.From, e.To))
	}
}

// bits is a set of numbers.
type bits []uint64

func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b bits) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) addAll(other bits) {
	for i, word := range other {
		b[i] |= word
	}
}
