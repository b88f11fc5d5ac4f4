package changegraph

import (
	"slices"

	"github.com/muster-deploy/muster/internal/graph"
)

// components returns, for the nodes and behind them the edge sets, the number of the strongly
// connected component; 0 stands for a component of one. Edges lead over the sets that make them.
func components(nodes int, sets []ruleEdges) []int {
	begin := make([]int, nodes+1) // of each node's part of waits
	for k := range sets {
		for _, i := range sets[k].waiters {
			begin[i+1]++
		}
	}
	for i := range nodes {
		begin[i+1] += begin[i]
	}
	waits := make([]int, begin[nodes]) // the sets in which each node waits
	next := slices.Clone(begin)
	for k := range sets {
		for _, i := range sets[k].waiters {
			waits[next[i]] = nodes + k
			next[i]++
		}
	}
	return graph.Components(nodes+len(sets), func(v int) []int {
		if v >= nodes {
			return sets[v-nodes].awaited
		}
		return waits[begin[v]:begin[v+1]]
	})
}
