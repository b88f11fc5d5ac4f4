package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// parse reads a graph: a line for each node, NAME [< NAME[:LABEL]...] with those that it waits for.
// A name with - before it is deleted, one with + joins others.
func parse(text string) Graph {
	g := Graph{Title: `package "shop"`}
	var names []string
	find := func(name string) int {
		if !slices.Contains(names, name) {
			names = append(names, name)
			g.Nodes = append(g.Nodes, Node{
				Name: strings.TrimLeft(name, "-+"), Removed: name[0] == '-', Join: name[0] == '+',
			})
		}
		return slices.Index(names, name)
	}
	for line := range strings.Lines(text) {
		name, waits, _ := strings.Cut(strings.TrimSpace(line), " < ")
		find(name)
		for _, other := range strings.Fields(waits) {
			other, label, _ := strings.Cut(other, ":")
			g.Edges = append(g.Edges, Edge{From: find(name), To: find(other), Label: label})
		}
	}
	return g
}

func TestGoldens(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(
		t *testing.T, files map[string]string,
	) map[string]string {
		g := parse(files["graph"])
		drawing := SVG(g)
		checkXML(t, drawing)
		return map[string]string{
			"tree": Tree(g), "dot": DOT(g), "mermaid": Mermaid(g), "svg": drawing,
		}
	})
}

// checkXML checks that a text is XML.
func checkXML(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, text)
		}
	}
}

// TestManyNodes draws 2,000 nodes, each of which waits for all of the stage before.
func TestManyNodes(t *testing.T) {
	g := Graph{Title: "many"}
	for i := range 2000 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("<%d>", i)})
		for j := range i % 20 {
			g.Edges = append(g.Edges, Edge{From: i, To: i - j - 1})
		}
	}
	checkXML(t, SVG(g))
	if lines := strings.Count(Tree(g), "\n"); lines != 2001 {
		t.Errorf("the tree has %d lines", lines)
	}
	if got := len(newLayout(g).edges); got != 1900 {
		t.Errorf("got %d edges: those that others imply are not left out", got)
	}
}
