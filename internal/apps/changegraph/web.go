package changegraph

import "slices"

// web is some bundles as a graph in which every edge leads over the bundle that makes it: its vertices are the nodes and,
// behind them, the bundles.
type web struct {
	nodes   int
	bundles []bundle
	begin   []int // of each node's part of in
	in      []int // vertices of the bundles in which each node waits
}

func newWeb(nodes int, bundles []bundle) *web {
	w := &web{nodes: nodes, bundles: bundles, begin: make([]int, nodes+1)}
	for k := range bundles {
		for _, i := range bundles[k].waiters {
			w.begin[i+1]++
		}
	}
	for i := range nodes {
		w.begin[i+1] += w.begin[i]
	}
	w.in = make([]int, w.begin[nodes])
	next := slices.Clone(w.begin)
	for k := range bundles {
		for _, i := range bundles[k].waiters {
			w.in[next[i]] = nodes + k
			next[i]++
		}
	}
	return w
}

// after gives the vertices that a vertex leads to.
func (w *web) after(v int) []int {
	if v >= w.nodes {
		return w.bundles[v-w.nodes].awaited
	}
	return w.in[w.begin[v]:w.begin[v+1]]
}

// knots numbers, from 1 on, the sets of vertices that can all be reached from each other, and gives for each vertex the number
// of its set: 0 if that is the vertex alone. It is the algorithm of Tarjan.
func (w *web) knots() []int {
	size := w.nodes + len(w.bundles)
	s := &search{web: w, order: make([]int, size), low: make([]int, size), knots: make([]int, size)}
	for v := range w.nodes {
		if s.order[v] == 0 {
			s.visit(v)
		}
	}
	return s.knots
}

type search struct {
	web        *web
	order, low []int // when a vertex was seen first, from 1 on; the earliest open one that it leads back to, 0 once it is closed
	open       []int // vertices whose set is not known yet
	seen       int
	found      int
	knots      []int
}

func (s *search) visit(v int) {
	s.seen++
	s.order[v], s.low[v] = s.seen, s.seen
	at := len(s.open)
	s.open = append(s.open, v)
	for _, next := range s.web.after(v) {
		if s.order[next] == 0 {
			s.visit(next)
		}
		if s.low[next] > 0 {
			s.low[v] = min(s.low[v], s.low[next])
		}
	}
	if s.low[v] < s.order[v] {
		return
	}
	if len(s.open) > at+1 {
		s.found++
		for _, member := range s.open[at:] {
			s.knots[member] = s.found
		}
	}
	for _, member := range s.open[at:] {
		s.low[member] = 0
	}
	s.open = s.open[:at]
}
