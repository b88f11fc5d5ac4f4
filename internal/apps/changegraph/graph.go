// Package changegraph orders the changes of one deployment by change groups and change rules.
//
// In go the changes, each with the groups that it belongs to and the rules that it follows; out comes for every change which
// others it waits for. The package knows how groups and rules are written, in annotations and in bindings, and nothing else of
// a cluster or of how changes are made.
package changegraph

import (
	"fmt"
	"strconv"
	"strings"
)

// Op is what a change does, as rules see it.
type Op string

// The operations. A Noop follows no rules, and nothing waits for it unless Options say so.
const (
	Upsert Op = "upsert"
	Delete Op = "delete"
	Noop   Op = "noop"
)

// Node is one change.
type Node struct {
	Name   string // how errors call it
	Op     Op
	Waits  bool     // of a Noop: the object is waited for although nothing is done to it
	Groups []string // in any order; one that is named twice counts once
	Rules  []Rule   // also those for another Op than this; they do not apply
}

// Options say where the order differs from that of kapp. The zero value is kapp's.
type Options struct {
	// AwaitUnchanged has changes wait for a Noop with Waits as if it were upserted. To rules that put a change before
	// others it stays nothing.
	AwaitUnchanged bool
}

// Graph says what waits for what. It has no circles.
type Graph struct {
	// Nodes is the number of changes.
	Nodes int
	// Needs holds for every change, by its index, what it waits for: changes, and from Nodes on joins, ascending. Behind the
	// changes it holds the same for the joins. A join is no change: it is done when all that it waits for is, and stands for
	// many edges between the members of a group and those that wait for all of them.
	Needs [][]int

	nodes []Node
}

// String is the form that tests compare: a line for each change and join, with the indexes of what it waits for.
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

// CycleError says that changes wait for each other by rules that have to be kept.
type CycleError struct {
	Chain []string // names, each waiting for the next; the last is one of those before it
}

// Error tells the chain in the words of kapp.
func (e *CycleError) Error() string {
	return fmt.Sprintf("Detected cycle while ordering changes: [%s] (found repeated: %s)",
		strings.Join(e.Chain, "] -> ["), e.Chain[len(e.Chain)-1])
}
