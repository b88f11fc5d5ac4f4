// Package graph holds algorithms on directed graphs: topological order, strongly connected
// components, and a cycle for an error message.
//
// The nodes of a graph are the numbers from 0 to n-1. A function next returns the targets of a
// node's edges, which must not change between calls. An edge may occur more than once.
package graph

import "container/heap"

// Sort returns the nodes in topological order: each after all of its targets, and of several that
// could come next the one that less puts first. Nodes that are in a cycle or lead to one are left
// out.
func Sort(n int, next func(node int) []int, less func(a, b int) bool) []int {
	sources := reverse(n, next)
	open := make([]int, n) // edges to targets that are not in the order yet
	free := &queue{less: less}
	for i := range n {
		if open[i] = len(next(i)); open[i] == 0 {
			free.nodes = append(free.nodes, i)
		}
	}
	heap.Init(free)
	order := make([]int, 0, n)
	for len(free.nodes) > 0 {
		i := heap.Pop(free).(int)
		order = append(order, i)
		for _, k := range sources(i) {
			if open[k]--; open[k] == 0 {
				heap.Push(free, k)
			}
		}
	}
	return order
}

// reverse returns the function that returns the sources of the edges to a node, ascending.
func reverse(n int, next func(int) []int) func(int) []int {
	begin := make([]int, n+1)
	for i := range n {
		for _, j := range next(i) {
			begin[j+1]++
		}
	}
	for i := range n {
		begin[i+1] += begin[i]
	}
	all := make([]int, begin[n])
	end := append([]int{}, begin[:n]...)
	for i := range n {
		for _, j := range next(i) {
			all[end[j]] = i
			end[j]++
		}
	}
	return func(i int) []int { return all[begin[i]:begin[i+1]] }
}

// queue is a heap of nodes.
type queue struct {
	nodes []int
	less  func(a, b int) bool
}

func (q *queue) Len() int           { return len(q.nodes) }
func (q *queue) Less(x, y int) bool { return q.less(q.nodes[x], q.nodes[y]) }
func (q *queue) Swap(x, y int)      { q.nodes[x], q.nodes[y] = q.nodes[y], q.nodes[x] }
func (q *queue) Push(x any)         { q.nodes = append(q.nodes, x.(int)) }

func (q *queue) Pop() any {
	last := q.nodes[len(q.nodes)-1]
	q.nodes = q.nodes[:len(q.nodes)-1]
	return last
}

// Cycle returns a path of edges whose last node equals an earlier one, or nil if there is no cycle.
// The path begins at the lowest node that leads to a cycle and follows the first edges that do.
func Cycle(n int, next func(node int) []int) []int {
	const (
		onPath = iota + 1
		done
	)
	state := make([]int8, n)
	var path []int
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] == done {
			return false
		}
		path = append(path, i)
		if state[i] == onPath {
			return true
		}
		state[i] = onPath
		for _, j := range next(i) {
			if visit(j) {
				return true
			}
		}
		state[i] = done
		path = path[:len(path)-1]
		return false
	}
	for i := range n {
		if visit(i) {
			return path
		}
	}
	return nil
}

// Components returns the number of each node's strongly connected component, counted from 1 in the
// order in which they are found. The number is 0 for a node that is a component of its own. The
// algorithm is Tarjan's.
func Components(n int, next func(node int) []int) []int {
	s := &search{
		next: next, order: make([]int, n), low: make([]int, n), components: make([]int, n),
	}
	for i := range n {
		if s.order[i] == 0 {
			s.visit(i)
		}
	}
	return s.components
}

type search struct {
	next       func(int) []int
	order      []int // when a node was seen first, from 1 on
	low        []int // the earliest open node that a node leads back to; 0 once its component is known
	open       []int // nodes whose component is not known yet
	seen       int
	found      int
	components []int
}

func (s *search) visit(v int) {
	s.seen++
	s.order[v], s.low[v] = s.seen, s.seen
	at := len(s.open)
	s.open = append(s.open, v)
	for _, next := range s.next(v) {
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
	members := s.open[at:]
	if len(members) > 1 {
		s.found++
	}
	for _, member := range members {
		s.low[member] = 0
		if len(members) > 1 {
			s.components[member] = s.found
		}
	}
	s.open = s.open[:at]
}
