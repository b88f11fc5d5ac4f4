package draw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Tree returns the graph as a tree of text: below each node those that wait for it. A node that
// waits for several is below the one of the latest stage, and says which others it waits for.
func Tree(g Graph) string {
	l := newLayout(g)
	t := &textTree{layout: l, children: make([][]int, len(g.Nodes))}
	var roots []int
	for i := range g.Nodes {
		parent := -1
		for _, j := range l.waits[i] {
			if parent < 0 || l.stages[j] > l.stages[parent] {
				parent = j
			}
		}
		if t.parents = append(t.parents, parent); parent < 0 {
			roots = append(roots, i)
		} else {
			t.children[parent] = append(t.children[parent], i)
		}
	}
	t.add("", roots)
	width := 0
	for _, line := range t.lines {
		width = max(width, utf8.RuneCountInString(line.name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s\n", g.Title, counted(l.objects(), "object"),
		counted(l.last, "stage"))
	for _, line := range t.lines {
		padding := width - utf8.RuneCountInString(line.name)
		text := fmt.Sprintf("%s%*s  %3d", line.name, padding, "", line.stage)
		if line.note != "" {
			text += "  " + line.note
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// objects returns how many nodes do not only join others.
func (l *layout) objects() int {
	n := 0
	for _, node := range l.Nodes {
		if !node.Join {
			n++
		}
	}
	return n
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// textTree collects the lines of a tree.
type textTree struct {
	*layout
	parents  []int // -1 for none
	children [][]int
	lines    []textLine
}

type textLine struct {
	name  string
	stage int
	note  string
}

// add adds nodes and all below them.
func (t *textTree) add(prefix string, nodes []int) {
	for k, i := range nodes {
		branch, further := "├─ ", "│  "
		if k == len(nodes)-1 {
			branch, further = "└─ ", "   "
		}
		t.lines = append(t.lines, textLine{
			prefix + branch + t.Nodes[i].Name, t.stages[i], t.note(i),
		})
		t.add(prefix+further, t.children[i])
	}
}

// note returns for what else a node waits.
func (t *textTree) note(i int) string {
	var others, cycle []string
	for k, e := range t.edges {
		switch {
		case e.From != i:
		case t.cycles[k]:
			cycle = append(cycle, t.Nodes[e.To].Name)
		case e.To != t.parents[i]:
			others = append(others, t.Nodes[e.To].Name)
		}
	}
	var parts []string
	if t.Nodes[i].Removed {
		parts = append(parts, "deleted")
	}
	if len(others) > 0 {
		parts = append(parts, "also after "+strings.Join(others, ", "))
	}
	if len(cycle) > 0 {
		parts = append(parts, "in a cycle: after "+strings.Join(cycle, ", "))
	}
	return strings.Join(parts, "; ")
}

// DOT returns the graph in the language of Graphviz. Edges lead from what is done first to what
// waits for it.
func DOT(g Graph) string {
	l := newLayout(g)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph {\n  label=%s; labelloc=t; rankdir=LR;\n", quoted(g.Title))
	b.WriteString("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n")
	for i, node := range g.Nodes {
		style := ""
		switch {
		case node.Join:
			style = ", shape=diamond"
		case node.Removed:
			style = ", style=\"rounded,dashed\""
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", i+1, quoted(node.Name), style)
	}
	for k, e := range l.edges {
		var attributes []string
		if e.Label != "" {
			attributes = append(attributes, "label="+quoted(e.Label))
		}
		if l.cycles[k] {
			attributes = append(attributes, "color=red")
		}
		text := ""
		if len(attributes) > 0 {
			text = " [" + strings.Join(attributes, ", ") + "]"
		}
		fmt.Fprintf(&b, "  n%d -> n%d%s;\n", e.To+1, e.From+1, text)
	}
	b.WriteString("}\n")
	return b.String()
}

// quoted returns a string of DOT. Graphviz reads entities of HTML in it.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "&", "&amp;").Replace(text) +
		`"`
}

// Mermaid returns the graph in the language of Mermaid, which GitHub and GitLab draw in Markdown.
func Mermaid(g Graph) string {
	l := newLayout(g)
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\n---\nflowchart LR\n", yamlText(g.Title))
	for i, node := range g.Nodes {
		open, end := "[", "]"
		if node.Join {
			open, end = "{", "}"
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i+1, open, mermaidText(node.Name), end)
	}
	for _, e := range l.edges {
		label := ""
		if e.Label != "" {
			label = "|\"" + mermaidText(e.Label) + "\"|"
		}
		fmt.Fprintf(&b, "  n%d -->%s n%d\n", e.To+1, label, e.From+1)
	}
	for k := range l.edges {
		if l.cycles[k] {
			fmt.Fprintf(&b, "  linkStyle %d stroke:red\n", k)
		}
	}
	for i, node := range g.Nodes {
		if node.Removed {
			fmt.Fprintf(&b, "  style n%d stroke-dasharray: 4\n", i+1)
		}
	}
	return b.String()
}

// mermaidText returns a text between quotes, in which Mermaid would read Markdown, HTML and more.
// It reads #N; as the character N, and has no empty texts.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range cmp.Or(text, " ") {
		switch {
		case r == '\n':
			b.WriteByte(' ')
		case r < utf8.RuneSelf && strings.ContainsRune("!\"#$%&'*()+;<=>?@[\\]^`{|}~", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// yamlText returns a string of YAML.
func yamlText(text string) string {
	data, _ := json.Marshal(text) // a string
	return string(data)
}
