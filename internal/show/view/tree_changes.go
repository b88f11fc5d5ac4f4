package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/object"
)

// TreeChange is an object of a tree that is new, that has changed, or that is gone.
type TreeChange struct {
	Node *livetree.Node // the last known state
	Gone bool
}

// String returns the change in one line.
func (c TreeChange) String() string {
	name := c.Node.Ref.String()
	if c.Gone {
		return plaintext.Line(name + " is gone")
	}
	text := fmt.Sprintf("%s is %s", name, c.Node.Status.State)
	if reason := NodeReason(c.Node); reason != "" {
		text += ": " + reason
	}
	return plaintext.Line(text)
}

// TreeChanges returns which objects differ between two trees, in the order of the later one, those
// that are gone last.
func TreeChanges(before, after []*livetree.Node) []TreeChange {
	known, order := map[object.Ref]*livetree.Node{}, []object.Ref{}
	walkTree(before, func(n *livetree.Node) {
		if known[n.Ref] == nil {
			order = append(order, n.Ref)
		}
		known[n.Ref] = n
	})
	var changes []TreeChange
	seen := map[object.Ref]bool{}
	walkTree(after, func(n *livetree.Node) {
		old := known[n.Ref]
		same := old != nil && old.Status.Same(n.Status) && old.Created.Equal(n.Created) &&
			slices.Equal(old.Containers, n.Containers)
		if !same && !seen[n.Ref] {
			changes = append(changes, TreeChange{Node: n})
		}
		seen[n.Ref] = true
	})
	for _, ref := range order {
		if !seen[ref] {
			changes = append(changes, TreeChange{Node: known[ref], Gone: true})
		}
	}
	return changes
}

// walkTree calls f for every object of a tree, those above before those below.
func walkTree(nodes []*livetree.Node, f func(*livetree.Node)) {
	for _, n := range nodes {
		f(n)
		walkTree(n.Children, f)
	}
}

// TreeScreen draws a tree over the one before, on a terminal where that is possible.
type TreeScreen struct {
	screen screen
}

// NewTreeScreen returns a screen on which no tree is drawn yet.
func NewTreeScreen(out io.Writer, t Terminal) *TreeScreen {
	return &TreeScreen{screen: screen{out: out, terminal: t}}
}

// Draw draws a tree. Lines that have no place on the terminal are counted in the last one.
func (s *TreeScreen) Draw(roots []*livetree.Node, o TreeOptions) error {
	s.screen.measure()
	text := LiveTree(roots, s.screen.terminal, o)
	lines := strings.SplitAfter(text, "\n")
	if room := s.screen.terminal.Height - 2; room > 0 && len(lines)-1 > room {
		text = strings.Join(lines[:room], "") + s.screen.terminal.fit(
			fmt.Sprintf("… %d more lines", len(lines)-1-room)) + "\n"
	}
	s.screen.draw(text)
	return wrapWrite(s.screen.err)
}
