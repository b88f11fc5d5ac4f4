package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
)

// Edge is one dependency: From depends on To. Source is the file and document that describe From, if any.
type Edge struct {
	From, To object.Ref
	Source   string
}

// CycleError says that objects depend on each other in circles, so that none of them can come first. Both lists are
// sorted by group, kind, namespace and name of From, then of To.
type CycleError struct {
	Edges   []Edge // the dependencies that make up the circles, and no others
	Blocked []Edge // all dependencies among the objects that cannot be put in order: the circles, and what depends on them
}

// Error tells the circles edge by edge, each going on where the one before it ended if that is possible.
func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("cyclic dependency:")
	left, at := slices.Clone(e.Edges), 0
	for len(left) > 0 {
		edge := left[at]
		source := ""
		if edge.Source != "" {
			source = " (" + edge.Source + ")"
		}
		fmt.Fprintf(&b, "\n- %s%s -> %s", edge.From, source, edge.To)
		left = slices.Delete(left, at, at+1)
		at = max(0, slices.IndexFunc(left, func(next Edge) bool { return next.From == edge.To }))
	}
	return b.String()
}

// rejectCycles notes all circles among objects that are applied as one *CycleError.
func (b *builder) rejectCycles() {
	depends, dependants := b.dependencies(false)
	blocked := trimmed(depends, dependants, nil)
	if len(blocked) == 0 {
		return
	}
	failed := &CycleError{Blocked: b.edges(depends, blocked, func(int, int) bool { return true })}
	core := trimmed(dependants, depends, blocked) // without what no circle depends on
	failed.Edges = b.edges(depends, core, func(from, to int) bool { return reaches(depends, core, to, from) })
	b.errs = append(b.errs, failed)
}

// breakCycles takes back the dependencies that make up circles among objects that are deleted: what live objects say was written
// at different times, and nobody can mend it but by deleting them. Only what objects say themselves is taken back, first what
// namespaces and definitions say, since the API has others depend on these, and then what the rest says.
func (b *builder) breakCycles() {
	b.breakCyclesFrom(func(ref object.Ref) bool {
		return ref.GroupKind() == NamespaceKind || ref.GroupKind() == DefinitionKind
	})
	b.breakCyclesFrom(func(object.Ref) bool { return true })
}

// breakCyclesFrom takes back what some objects that are deleted say of others with which they are in a circle.
func (b *builder) breakCyclesFrom(who func(object.Ref) bool) {
	depends, dependants := b.dependencies(true)
	core := trimmed(dependants, depends, trimmed(depends, dependants, nil))
	if len(core) == 0 {
		return
	}
	definitions, told := b.definitions(), map[int][]string{}
	for _, edge := range b.edges(depends, core, func(from, to int) bool { return reaches(depends, core, to, from) }) {
		i, j := b.index[edge.From], b.index[edge.To]
		if !who(edge.From) || slices.Contains(b.impliedTargets(i, definitions), j) {
			continue
		}
		from, to := &b.nodes[i], &b.nodes[j]
		from.dependsOn = slices.DeleteFunc(from.dependsOn, func(k int) bool { return k == j })
		to.needs = slices.DeleteFunc(to.needs, func(k int) bool { return k == i })
		told[i] = append(told[i], edge.To.String())
		from.ReasonCode, from.ReasonRef = ReasonCycle, edge.To
		from.Reason = fmt.Sprintf("its dependency on %s is ignored: they form a cycle", strings.Join(told[i], " and "))
	}
}

// dependencies gives for every node those that it depends on, and those that depend on it, among what is removed or among what is
// applied. What is deleted needs the nodes that depend on it, so that its needs are the other way round.
func (b *builder) dependencies(removed bool) (depends, dependants [][]int) {
	depends, dependants = make([][]int, len(b.nodes)), make([][]int, len(b.nodes))
	for i, n := range b.nodes {
		if n.Op.Removes() != removed {
			continue
		}
		for _, j := range n.needs {
			from, to := i, j
			if removed {
				from, to = j, i
			}
			if b.nodes[j].Op.Removes() == removed && !slices.Contains(depends[from], to) {
				depends[from] = append(depends[from], to)
				dependants[to] = append(dependants[to], from)
			}
		}
	}
	return depends, dependants
}

// trimmed takes away, again and again, every node with no edge left out to another one, and gives what remains. It begins
// with all nodes, or with those given.
func trimmed(out, in [][]int, within map[int]bool) map[int]bool {
	left := make(map[int]bool, len(out))
	for i := range out {
		if within == nil || within[i] {
			left[i] = true
		}
	}
	degree := make([]int, len(out))
	var free []int
	for i := range left {
		for _, j := range out[i] {
			if left[j] {
				degree[i]++
			}
		}
		if degree[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		delete(left, i)
		for _, k := range in[i] {
			if degree[k]--; left[k] && degree[k] == 0 {
				free = append(free, k)
			}
		}
	}
	return left
}

// reaches reports whether a path leads from one node to another within some nodes.
func reaches(depends [][]int, within map[int]bool, from, to int) bool {
	seen, open := map[int]bool{from: true}, []int{from}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if i == to {
			return true
		}
		for _, j := range depends[i] {
			if within[j] && !seen[j] {
				seen[j] = true
				open = append(open, j)
			}
		}
	}
	return false
}

// edges gives the dependencies among some nodes that pass a test, sorted.
func (b *builder) edges(depends [][]int, among map[int]bool, test func(from, to int) bool) []Edge {
	var edges []Edge
	for i := range among {
		for _, j := range depends[i] {
			if among[j] && test(i, j) {
				edges = append(edges, Edge{From: b.nodes[i].Ref, To: b.nodes[j].Ref, Source: b.nodes[i].Source})
			}
		}
	}
	slices.SortFunc(edges, func(x, y Edge) int {
		return cmp.Or(object.Compare(x.From, y.From), object.Compare(x.To, y.To))
	})
	return edges
}
