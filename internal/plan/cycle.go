package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/graph"
	"github.com/muster-deploy/muster/internal/object"
)

// Edge is a dependency of From on To. Source is the file and document of From, if any.
type Edge struct {
	From, To object.Ref
	Source   string
}

// CycleError reports objects that depend on each other in cycles. Both lists are sorted by group,
// kind, namespace and name of From, then of To.
type CycleError struct {
	Edges   []Edge // dependencies within cycles
	Blocked []Edge // dependencies among all objects that are in a cycle or depend on one
}

// Error returns the cycles edge by edge. Each edge begins where the one before ended, if possible.
func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("cyclic dependency:")
	remaining, at := slices.Clone(e.Edges), 0
	for len(remaining) > 0 {
		edge := remaining[at]
		source := ""
		if edge.Source != "" {
			source = " (" + edge.Source + ")"
		}
		fmt.Fprintf(&b, "\n- %s%s -> %s", edge.From, source, edge.To)
		remaining = slices.Delete(remaining, at, at+1)
		at = max(0, slices.IndexFunc(remaining, func(next Edge) bool { return next.From == edge.To }))
	}
	return b.String()
}

// rejectCycles adds one *CycleError for all cycles among applied objects.
func (b *builder) rejectCycles() {
	depends := b.dependencies(false)
	next := func(i int) []int { return depends[i] }
	blocked := slices.Repeat([]bool{true}, len(b.nodes))
	for _, i := range graph.Sort(len(b.nodes), next, func(x, y int) bool { return x < y }) {
		blocked[i] = false
	}
	if !slices.Contains(blocked, true) {
		return
	}
	b.errs = append(b.errs, &CycleError{
		Edges:   b.cycleEdges(depends),
		Blocked: b.edges(depends, func(i, j int) bool { return blocked[i] && blocked[j] }),
	})
}

// breakCycles drops dependencies that close cycles among deleted objects: nobody can correct what
// live objects declare except by deleting them. Only declared dependencies are dropped, those of
// namespaces and definitions first, because the API makes other objects depend on these.
func (b *builder) breakCycles() {
	b.breakCyclesFrom(func(ref object.Ref) bool {
		return ref.GroupKind() == NamespaceKind || ref.GroupKind() == DefinitionKind
	})
	b.breakCyclesFrom(func(object.Ref) bool { return true })
}

// breakCyclesFrom drops the declared dependencies of some deleted objects on others of their cycle.
func (b *builder) breakCyclesFrom(selected func(object.Ref) bool) {
	cycle := b.cycleEdges(b.dependencies(true))
	if len(cycle) == 0 {
		return
	}
	definitions, dropped := b.definitions(), map[int][]string{}
	for _, edge := range cycle {
		i, j := b.index[edge.From], b.index[edge.To]
		if !selected(edge.From) || slices.Contains(b.impliedTargets(i, definitions), j) {
			continue
		}
		from, to := &b.nodes[i], &b.nodes[j]
		from.dependsOn = slices.DeleteFunc(from.dependsOn, func(k int) bool { return k == j })
		to.needs = slices.DeleteFunc(to.needs, func(k int) bool { return k == i })
		dropped[i] = append(dropped[i], edge.To.String())
		from.ReasonCode, from.ReasonRef = ReasonCycle, edge.To
		from.Reason = fmt.Sprintf("its dependency on %s is ignored: they form a cycle",
			strings.Join(dropped[i], " and "))
	}
}

// dependencies returns the dependencies of every node, among removed or among applied nodes. A
// deleted node needs its dependents, so its needs are reversed.
func (b *builder) dependencies(removed bool) [][]int {
	depends := make([][]int, len(b.nodes))
	known := map[[2]int]bool{}
	for i, n := range b.nodes {
		if n.Op.Removes() != removed {
			continue
		}
		for _, j := range n.needs {
			from, to := i, j
			if removed {
				from, to = j, i
			}
			if b.nodes[j].Op.Removes() == removed && !known[[2]int{from, to}] {
				known[[2]int{from, to}] = true
				depends[from] = append(depends[from], to)
			}
		}
	}
	return depends
}

// cycleEdges returns the dependencies that are part of a cycle, sorted.
func (b *builder) cycleEdges(depends [][]int) []Edge {
	components := graph.Components(len(depends), func(i int) []int { return depends[i] })
	return b.edges(depends, func(i, j int) bool {
		return i == j || components[i] > 0 && components[i] == components[j]
	})
}

// edges returns the dependencies that pass a test, sorted.
func (b *builder) edges(depends [][]int, test func(from, to int) bool) []Edge {
	var edges []Edge
	for i := range depends {
		for _, j := range depends[i] {
			if test(i, j) {
				edges = append(edges, Edge{
					From: b.nodes[i].Ref, To: b.nodes[j].Ref, Source: b.nodes[i].Source,
				})
			}
		}
	}
	slices.SortFunc(edges, func(x, y Edge) int {
		return cmp.Or(object.Compare(x.From, y.From), object.Compare(x.To, y.To))
	})
	return edges
}
