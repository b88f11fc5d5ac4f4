package graph_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/muster-deploy/muster/internal/graph"
)

// edges is a graph by its edges.
type edges [][]int

func (e edges) next(i int) []int { return e[i] }

// reaches reports whether a path of at least one edge leads from one node to another.
func (e edges) reaches(from, to int) bool {
	seen, open := make([]bool, len(e)), slices.Clone(e[from])
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if i == to {
			return true
		}
		if !seen[i] {
			seen[i] = true
			open = append(open, e[i]...)
		}
	}
	return false
}

func TestSort(t *testing.T) {
	for name, tc := range map[string]struct {
		graph edges
		want  []int
	}{
		"none":              {edges{}, []int{}},
		"by less":           {edges{nil, nil, nil}, []int{2, 1, 0}},
		"targets first":     {edges{nil, {0}, {1}}, []int{0, 1, 2}},
		"an edge twice":     {edges{{1, 1}, nil}, []int{1, 0}},
		"without cycles":    {edges{{1}, {0}, {1}, nil}, []int{3}},
		"without self-loop": {edges{{0}, nil}, []int{1}},
		"freed in between":  {edges{nil, nil, {0}, {1}}, []int{1, 3, 0, 2}},
	} {
		got := graph.Sort(len(tc.graph), tc.graph.next, func(a, b int) bool { return a > b })
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestRandom compares the results for random graphs with those of plain searches.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := make(edges, 1+r.IntN(12))
		for range r.IntN(2 * len(e)) {
			i := r.IntN(len(e))
			e[i] = append(e[i], r.IntN(len(e)))
		}
		checkOrder(t, e)
		checkCycle(t, e)
		components := graph.Components(len(e), e.next)
		for i := range e {
			for j := range e {
				same := i != j && e.reaches(i, j) && e.reaches(j, i)
				if got := i != j && components[i] > 0 && components[i] == components[j]; got != same {
					t.Fatalf("%v: components %v, but nodes %d and %d", e, components, i, j)
				}
			}
		}
	}
}

func checkOrder(t *testing.T, e edges) {
	t.Helper()
	order := graph.Sort(len(e), e.next, func(a, b int) bool { return a < b })
	for i := range e {
		blocked := slices.ContainsFunc(append([]int{i}, e[i]...), func(j int) bool {
			return e.reaches(j, j) || slices.ContainsFunc(e[j], func(k int) bool { return e.reaches(k, k) })
		})
		place := slices.Index(order, i)
		if blocked && place >= 0 {
			t.Fatalf("%v: the order %v has node %d", e, order, i)
		}
		for _, j := range e[i] {
			if place >= 0 && slices.Index(order[:place], j) < 0 {
				t.Fatalf("%v: in the order %v node %d is not after %d", e, order, i, j)
			}
		}
	}
	left := func(i int) bool { return !slices.Contains(order, i) }
	for i := range e {
		if left(i) && !slices.ContainsFunc(e[i], left) {
			t.Fatalf("%v: node %d is missing in the order %v", e, i, order)
		}
	}
}

func checkCycle(t *testing.T, e edges) {
	t.Helper()
	path := graph.Cycle(len(e), e.next)
	cyclic := false
	for i := range e {
		cyclic = cyclic || e.reaches(i, i)
	}
	if cyclic != (path != nil) {
		t.Fatalf("%v: the path of a cycle is %v", e, path)
	}
	for k := 1; k < len(path); k++ {
		if !slices.Contains(e[path[k-1]], path[k]) {
			t.Fatalf("%v: the path %v has no edge at %d", e, path, k)
		}
	}
	if last := len(path) - 1; cyclic && !slices.Contains(path[:last], path[last]) {
		t.Fatalf("%v: the path %v does not return", e, path)
	}
}

func TestCycle(t *testing.T) {
	e := edges{nil, {0, 2}, {0, 3}, {2}}
	if got := graph.Cycle(len(e), e.next); !slices.Equal(got, []int{1, 2, 3, 2}) {
		t.Errorf("the path is %v", got)
	}
}

func BenchmarkGraph(b *testing.B) {
	const nodes, count = 5_000, 100_000
	r := rand.New(rand.NewPCG(1, 1))
	e := make(edges, nodes)
	for range count {
		i := 1 + r.IntN(nodes-1)
		e[i] = append(e[i], r.IntN(i))
	}
	ranks := make([]string, nodes)
	for i := range ranks {
		ranks[i] = fmt.Sprint(r.IntN(nodes))
	}
	b.Run("Sort", func(b *testing.B) {
		for b.Loop() {
			less := func(x, y int) bool { return cmp.Less(ranks[x], ranks[y]) }
			if len(graph.Sort(nodes, e.next, less)) < nodes {
				b.Fatal("a cycle")
			}
		}
	})
	b.Run("Components", func(b *testing.B) {
		for b.Loop() {
			graph.Components(nodes, e.next)
		}
	})
}
