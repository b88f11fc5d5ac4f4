// Package changegraph orders the changes of one run by change groups and change rules.
//
// Its input is the changes, each with its groups and rules. Its output is, for every change, the
// changes it waits for. The package knows how groups and rules are written, in annotations and in
// the configuration. It knows nothing else of a cluster, nor how changes are made. Plans of native
// commands have its answer as constraints; those of kapp's commands have no other order.
package changegraph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Op is the operation of a change, as rules see it.
type Op string

// The operations. A Noop follows no rules, and nothing waits for it unless Options say so.
const (
	Upsert Op = "upsert"
	Delete Op = "delete"
	Noop   Op = "noop"
)

// Node is a change.
type Node struct {
	Name   string // its name in errors
	Op     Op
	Waits  bool     // of a Noop: the run waits for the object
	Groups []string // in any order; repeated names count once
	Rules  []Rule   // rules for another Op do not apply
}

// Options are deviations from the order of kapp. The zero value is kapp's order.
type Options struct {
	// AwaitUnchanged makes changes wait for a Noop with Waits as if it were an Upsert. Rules that
	// put a change before others still ignore it.
	AwaitUnchanged bool
	// KeepCycles leaves the search for cycles of required rules to the caller.
	KeepCycles bool
}

// Graph is the dependencies of changes. It is acyclic, unless Options keep cycles.
type Graph struct {
	// Nodes is the number of changes.
	Nodes int
	// Needs holds, ascending, the dependencies of every change by its index, then those of the joins,
	// which are numbered from Nodes on. A join is done when its dependencies are. It replaces the many
	// edges between the members of a group and the changes that wait for all of them.
	Needs [][]int

	nodes []Node
}

// Waits returns how many changes all changes wait for together, without joins; what two rules say
// counts twice.
func (g *Graph) Waits() (count int) {
	for i := range g.Nodes {
		for _, j := range g.Needs[i] {
			if j < g.Nodes {
				count++
			} else {
				count += len(g.Needs[j])
			}
		}
	}
	return count
}

// Direct returns, for every change, the changes that it waits for, without joins. The lists are
// ascending. They have as many items as Waits returns.
func (g *Graph) Direct() [][]int {
	direct := make([][]int, g.Nodes)
	for i := range direct {
		for _, j := range g.Needs[i] {
			if j < g.Nodes {
				direct[i] = append(direct[i], j)
			} else {
				direct[i] = append(direct[i], g.Needs[j]...)
			}
		}
		slices.Sort(direct[i])
		direct[i] = slices.Compact(direct[i])
	}
	return direct
}

// String returns the form that tests compare: a line for each change and join with its
// dependencies.
func (g *Graph) String() string {
	var b strings.Builder
	for i, needs := range g.Needs {
		if i < g.Nodes {
			fmt.Fprintf(&b, "%d %s %s", i, g.nodes[i].Op, g.nodes[i].Name)
		} else {
			fmt.Fprintf(&b, "%d join", i)
		}
		for k, j := range needs {
			if k == 0 {
				b.WriteString(" needs")
			}
			b.WriteString(" " + strconv.Itoa(j))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// CycleError reports changes that wait for each other by required rules.
type CycleError struct {
	Chain []string // names, each waiting for the next; the last one occurs before
}

// Error returns the chain in kapp's words.
func (e *CycleError) Error() string {
	return fmt.Sprintf("Detected cycle while ordering changes: [%s] (found repeated: %s)",
		strings.Join(e.Chain, "] -> ["), e.Chain[len(e.Chain)-1])
}
