package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/ready"
)

// TreeLimit is the number of lines above which healthy branches of a tree are folded.
const TreeLimit = 50

// manyAlike is the number of healthy objects of a kind beside each other above which a folded tree
// shows only how many they are.
const manyAlike = 3

// TreeOptions describe how a tree is printed.
type TreeOptions struct {
	Title string
	All   bool // nothing is folded
	Now   time.Time
}

// treeLine is a line of a tree.
type treeLine struct {
	name   string // with the branches before it
	state  string
	colour Colour
	age    string
	reason string
}

// LiveTree returns a tree of objects as lines that fit the terminal. Healthy branches are folded if
// the tree has more than TreeLimit lines.
func LiveTree(roots []*livetree.Node, t Terminal, o TreeOptions) string {
	tree := &treePrinter{options: o}
	tree.fold = !o.All && countLines(roots) > TreeLimit
	tree.several = slices.ContainsFunc(roots, func(n *livetree.Node) bool {
		return n.Ref.Namespace != "" && n.Ref.Namespace != roots[len(roots)-1].Ref.Namespace
	})
	tree.add("", roots, true)
	width := 0
	for _, line := range tree.lines {
		width = max(width, spanLength(TextCell(line.name)))
	}
	if t.Width > 0 {
		width = min(width, t.Width*3/5)
	}
	var b strings.Builder
	if o.Title != "" {
		b.WriteString(t.fit(fmt.Sprintf("%s: %s", o.Title, treeSummary(roots))) + "\n")
	}
	for _, line := range tree.lines {
		spans := fitSpans([]Span{{Text: line.name}}, width)
		spans = append(spans, Span{Text: "  "}, Span{Text: fmt.Sprintf("%-11s", line.state),
			Colour: line.colour}, Span{Text: fmt.Sprintf("  %4s", line.age)})
		if line.reason != "" {
			spans = append(spans, Span{Text: "  " + line.reason})
		}
		b.WriteString(strings.TrimRight(t.colourSpans(t.fitLine(spans)), " ") + "\n")
	}
	return b.String()
}

// treeSummary returns how many of the objects of a set are ready.
func treeSummary(roots []*livetree.Node) string {
	if len(roots) == 0 {
		return "no objects"
	}
	healthy := 0
	for _, n := range roots {
		if n.Healthy() {
			healthy++
		}
	}
	return fmt.Sprintf("%d of %s ready", healthy, counted(len(roots), "object"))
}

// counted returns a number with a noun in the singular or plural.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"):
		noun += "es"
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ay"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// countLines returns how many lines a tree has if nothing is folded.
func countLines(nodes []*livetree.Node) int {
	n := 0
	for _, node := range nodes {
		n += 1 + len(node.Containers) + countLines(node.Children)
	}
	return n
}

// treePrinter collects the lines of a tree.
type treePrinter struct {
	options TreeOptions
	fold    bool
	several bool // namespaces
	lines   []treeLine
}

// add adds objects that are beside each other, below the branches of prefix.
func (p *treePrinter) add(prefix string, nodes []*livetree.Node, top bool) {
	shown, alike := nodes, map[string][]*livetree.Node{}
	if !p.options.All {
		shown, alike = p.foldAlike(nodes)
	}
	groups := slices.Sorted(maps.Keys(alike))
	for i, node := range shown {
		last := i == len(shown)-1 && len(groups) == 0
		p.addNode(prefix, node, last, top)
	}
	for i, group := range groups {
		branch, _ := branches(i == len(groups)-1)
		some := alike[group]
		line := treeLine{
			name:  prefix + branch + counted(len(some), some[0].Ref.Kind),
			state: string(some[0].Status.State), colour: ColourOf(some[0].Status.State),
		}
		if some[0].Former {
			line.reason = "of earlier revisions, without pods"
		} else {
			line.reason = ownedText(some)
		}
		p.lines = append(p.lines, line)
	}
}

// foldAlike returns the objects that have a line each, and those that share one for each kind:
// ReplicaSets of earlier revisions and, in a tree that is folded, many healthy objects.
func (p *treePrinter) foldAlike(
	nodes []*livetree.Node,
) (shown []*livetree.Node, alike map[string][]*livetree.Node) {
	alike = map[string][]*livetree.Node{}
	group := func(n *livetree.Node) string {
		switch {
		case n.Former && n.Healthy() && len(n.Children) == 0:
			return "former"
		case p.fold && n.Healthy():
			return n.Ref.Kind + "." + n.Ref.Group
		}
		return ""
	}
	for _, n := range nodes {
		if key := group(n); key != "" {
			alike[key] = append(alike[key], n)
		}
	}
	for key, some := range alike {
		if len(some) <= manyAlike && key != "former" {
			delete(alike, key)
		}
	}
	for _, n := range nodes {
		if alike[group(n)] == nil {
			shown = append(shown, n)
		}
	}
	return shown, alike
}

// addNode adds an object and, unless its branch is folded, its containers and what it owns.
func (p *treePrinter) addNode(prefix string, n *livetree.Node, last, top bool) {
	branch, further := branches(last)
	line := treeLine{
		name:  prefix + branch + n.Ref.Kind + "/" + n.Ref.Name,
		state: string(n.Status.State), colour: ColourOf(n.Status.State), reason: NodeReason(n),
	}
	if top && p.several && n.Ref.Namespace != "" {
		line.name = prefix + branch + n.Ref.Namespace + "/" + n.Ref.Kind + "/" + n.Ref.Name
	}
	if !n.Created.IsZero() {
		line.age = Age(max(0, p.options.Now.Sub(n.Created)))
	}
	line.name, line.reason = plaintext.Line(line.name), plaintext.Line(line.reason)
	folded := p.fold && n.Healthy()
	if folded {
		line.reason = ownedText([]*livetree.Node{n})
	}
	p.lines = append(p.lines, line)
	if folded {
		return
	}
	below := prefix + further
	for i, c := range n.Containers {
		branch, _ := branches(i == len(n.Containers)-1 && len(n.Children) == 0)
		p.lines = append(p.lines, containerLine(below+branch, c))
	}
	p.add(below, n.Children, false)
}

// branches returns what is before the name of an object, and before those below it.
func branches(last bool) (branch, further string) {
	if last {
		return "└─ ", "   "
	}
	return "├─ ", "│  "
}

// containerLine returns the line of a container.
func containerLine(prefix string, c livetree.Container) treeLine {
	kind := "container "
	if c.Init {
		kind = "init container "
	}
	line := treeLine{
		name: plaintext.Line(prefix + kind + c.Name), state: c.State, colour: Yellow,
	}
	switch {
	case c.Healthy():
		line.colour = Green
	case c.State == "running":
		line.reason = "not ready"
	case c.State == "terminated" || strings.Contains(c.Reason, "BackOff"):
		line.colour = Red
	}
	line.reason = plaintext.Line(joinReasons(line.reason, containerReason(c)))
	return line
}

// containerReason returns why a container is in its state, and how often it was restarted.
func containerReason(c livetree.Container) string {
	restarts := ""
	if c.Restarts > 0 {
		restarts = counted(int(c.Restarts), "restart")
	}
	return joinReasons(c.Reason, restarts)
}

// joinReasons joins the texts that are not empty.
func joinReasons(texts ...string) string {
	isEmpty := func(text string) bool { return text == "" }
	return strings.Join(slices.DeleteFunc(texts, isEmpty), ", ")
}

// NodeReason returns why an object is not ready, in one line; empty if it is.
func NodeReason(n *livetree.Node) string {
	if n.Status.State == ready.Current {
		return ""
	}
	for _, c := range n.Containers {
		if reason := containerReason(c); !c.Healthy() && c.State != "running" && reason != "" {
			return c.Name + ": " + reason
		}
	}
	return firstLine(cmp.Or(n.Status.Message, n.Status.Reason))
}

// ownedText returns how many objects of each kind some objects own; empty for none.
func ownedText(nodes []*livetree.Node) string {
	counts := map[string]int{}
	var visit func([]*livetree.Node)
	visit = func(nodes []*livetree.Node) {
		for _, n := range nodes {
			if !n.Former {
				counts[n.Ref.Kind]++
			}
			visit(n.Children)
		}
	}
	for _, n := range nodes {
		visit(n.Children)
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, counted(counts[kind], kind))
	}
	if len(parts) == 0 {
		return ""
	}
	return "with " + strings.Join(parts, ", ")
}
