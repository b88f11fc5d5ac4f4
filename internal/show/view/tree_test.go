package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

var treeNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// parseTree reads a tree: KIND/NAME STATE [MESSAGE] for an object, with ! before one of an earlier
// revision, and "- NAME STATE RESTARTS [REASON]" for a container. Two spaces indent what is below.
// "xN " before a line repeats it N times.
func parseTree(t *testing.T, text string) []*livetree.Node {
	levels := [][]*livetree.Node{nil}
	var roots []*livetree.Node
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		level := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		words := strings.Fields(line)
		times := 1
		if n, err := strconv.Atoi(strings.TrimPrefix(words[0], "x")); err == nil {
			times, words = n, words[1:]
		}
		if words[0] == "-" {
			restarts, err := strconv.Atoi(words[3])
			if err != nil {
				t.Fatal(err)
			}
			pod := levels[level-1][0]
			pod.Containers = append(pod.Containers, livetree.Container{
				Name: words[1], State: strings.TrimSuffix(words[2], "!"), Restarts: int64(restarts),
				Ready: words[2] == "running", Reason: strings.Join(words[4:], " "),
			})
			continue
		}
		levels = append(levels[:level+1], nil)
		for i := range times {
			kind, name, _ := strings.Cut(words[0], "/")
			n := &livetree.Node{
				Status:  ready.Status{State: ready.State(words[1]), Message: strings.Join(words[2:], " ")},
				Created: treeNow.Add(-time.Hour), Former: kind[0] == '!',
				Ref: object.Ref{Kind: strings.TrimPrefix(kind, "!"), Namespace: "shop", Name: name},
			}
			if namespace, rest, ok := strings.Cut(name, "/"); ok {
				n.Ref.Namespace, n.Ref.Name = namespace, rest
			}
			if times > 1 {
				n.Ref.Name += fmt.Sprint(i)
			}
			if n.Status.State == ready.NotFound {
				n.Created = time.Time{}
			}
			if levels[level] = []*livetree.Node{n}; level == 0 {
				roots = append(roots, n)
			} else {
				parent := levels[level-1][0]
				parent.Children = append(parent.Children, n)
			}
		}
	}
	return roots
}

// TestLiveTree prints the tree of the section tree: for a file, folded or not, and at the widths
// that the golden sections name; and what has changed since the section before.
func TestLiveTree(t *testing.T) {
	golden.Run(t, "testdata/tree_*.txtar", func(
		t *testing.T, files map[string]string,
	) map[string]string {
		roots := parseTree(t, files["tree"])
		o := TreeOptions{Title: `package "shop"`, Now: treeNow}
		out := map[string]string{"tree": LiveTree(roots, Terminal{}, o)}
		for _, width := range strings.Fields(files["widths"]) {
			n, _ := strconv.Atoi(width)
			out["tree"+width] = LiveTree(roots, Terminal{Width: n}, o)
			for line := range strings.Lines(out["tree"+width]) {
				if got := len([]rune(strings.TrimSuffix(line, "\n"))); got > n {
					t.Errorf("a line has %d columns of %d: %s", got, n, line)
				}
			}
		}
		if _, ok := files["all"]; ok {
			o.All = true
			out["all"] = LiveTree(roots, Terminal{}, o)
		}
		if before, ok := files["before"]; ok {
			var lines []string
			for _, change := range TreeChanges(parseTree(t, before), roots) {
				lines = append(lines, change.String())
			}
			out["changes"] = strings.Join(lines, "\n")
		}
		return out
	})
}

func TestTreeScreenFitsTheTerminal(t *testing.T) {
	roots := parseTree(t, "x40 Pod/web Failed no image\n")
	var out strings.Builder
	s := NewTreeScreen(&out, Terminal{Live: true, Width: 30, Height: 10})
	for range 2 { // the second drawing replaces the first one
		if err := s.Draw(roots, TreeOptions{Title: "x", Now: treeNow}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 9 || lines[8] != "… 33 more lines" {
		t.Errorf("got %d lines: %q", len(lines), lines)
	}
	if slices.ContainsFunc(lines, func(line string) bool { return len([]rune(line)) > 30 }) {
		t.Errorf("a line is too long: %q", lines)
	}
}
