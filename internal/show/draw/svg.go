package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// style colours a drawing by the preference of the reader for light or dark.
const style = `<style>
svg { background: #fff; font: 12px system-ui, sans-serif; }
text { fill: #1f2328; } .title { font-size: 15px; font-weight: bold; } .label { fill: #59636e; }
rect { fill: #f6f8fa; stroke: #818b98; } .removed { stroke-dasharray: 4; } .join { rx: 14px; }
path { fill: none; stroke: #818b98; stroke-width: 1.25; } .head { stroke: none; fill: #59636e; }
.why1 { stroke: #0969da; } .why2 { stroke: #1a7f37; stroke-dasharray: 7 3; }
.why3 { stroke: #8250df; stroke-dasharray: 2 3; } .why4 { stroke: #9a6700; stroke-dasharray: 9 3 2 3; }
.why5 { stroke: #bf3989; stroke-dasharray: 4 4; } .cycle { stroke: #cf222e; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; } text { fill: #e6edf3; } .label { fill: #9198a1; }
  rect { fill: #161b22; stroke: #656c76; } path { stroke: #656c76; } .head { fill: #9198a1; }
  .why1 { stroke: #4493f8; } .why2 { stroke: #3fb950; } .why3 { stroke: #ab7df8; }
  .why4 { stroke: #d29922; } .why5 { stroke: #db61a2; } .cycle { stroke: #f85149; }
}
</style>
`

// maxReasons is the number of reasons that have a line of their own.
const maxReasons = 5

// titleHeight is the room for the title and the legend.
const titleHeight, legendHeight = 44, 24

// SVG returns a drawing of the graph: a column for each stage, from left to right. A legend says
// which lines stand for which reasons.
func SVG(g Graph) string {
	reasons := reasonsOf(g)
	top := titleHeight
	if len(reasons) > 0 {
		top += legendHeight
	}
	d := newDrawing(g, top)
	d.reasons = reasons
	d.width = max(d.width, 2*margin+9*utf8.RuneCountInString(g.Title))
	var b strings.Builder
	d.open(&b)
	b.WriteString(style)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", margin, margin+8,
		escaped(g.Title))
	d.writeLegend(&b)
	d.writeContent(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// Inline returns a drawing of the graph for a page of HTML, which says how the classes look: those
// of nodes and edges, and edge, node, head, join, removed and cycle.
func Inline(g Graph) string {
	d := newDrawing(g, margin/2)
	var b strings.Builder
	d.open(&b)
	d.writeContent(&b)
	b.WriteString("</svg>")
	return b.String()
}

func (d *drawing) open(b *strings.Builder) {
	role := ` role="img"`
	if slices.ContainsFunc(d.Nodes, func(n Node) bool { return n.Link != "" }) {
		role = ` role="group"` // an image has no links
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d"%s aria-label="%s">`+"\n", d.width, d.height, d.width, d.height, role,
		escaped(d.Title))
}

// reasonsOf returns the reasons of the edges that have any, the most frequent first: it is drawn as
// a plain line.
func reasonsOf(g Graph) []string {
	counts := map[string]int{}
	for _, e := range g.Edges {
		if e.Label != "" {
			counts[e.Label]++
		}
	}
	var reasons []string
	for reason := range counts {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	return reasons
}

// reasonClass returns the class of the lines of a reason.
func (d *drawing) reasonClass(reason string) string {
	if i := slices.Index(d.reasons, reason); i >= 0 {
		return fmt.Sprintf("why%d", min(i, maxReasons))
	}
	return ""
}

// writeLegend writes which lines stand for which reasons.
func (d *drawing) writeLegend(b *strings.Builder) {
	x, y := margin, margin+8+legendHeight
	for _, reason := range d.reasons {
		fmt.Fprintf(b, `<path class="%s" d="M%d %d h28"/><text class="label" x="%d" y="%d">%s</text>`+
			"\n", d.reasonClass(reason), x, y-4, x+36, y, escaped(reason))
		x += 36 + letterWidth*utf8.RuneCountInString(reason) + 24
	}
	d.width = max(d.width, x)
}

func (d *drawing) writeContent(b *strings.Builder) {
	for k, e := range d.edges {
		d.writeEdge(b, e, d.cycles[k])
	}
	for i := range d.Nodes {
		d.writeNode(b, i)
	}
}

// writeNode writes the box of a node.
func (d *drawing) writeNode(b *strings.Builder, i int) {
	node, t := d.Nodes[i], d.nodes[i]
	classes := strings.TrimSpace("node " + node.Class)
	if node.Join {
		classes += " join"
	}
	if node.Removed {
		classes += " removed"
	}
	open, end := "<g>", "</g>"
	if node.Link != "" {
		open, end = `<a href="`+escaped(node.Link)+`">`, "</a>"
	}
	x, y := d.x[t.stage], int(t.y)
	fmt.Fprintf(b, `%s<title>%s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`,
		open, escaped(cmp.Or(node.Title, node.Name)), classes, x, y-boxHeight/2, d.widths[t.stage],
		boxHeight)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>%s`+"\n", x+10, y+4, escaped(node.Name), end)
}

// writeEdge writes the curve of an edge through its lanes. That of a cycle leads back.
func (d *drawing) writeEdge(b *strings.Builder, e Edge, cycle bool) {
	from, to := d.nodes[e.To], d.nodes[e.From]
	classes := strings.TrimSpace("edge " + e.Class + " " + d.reasonClass(e.Label))
	bend := stageGap / 2
	if cycle {
		classes = "edge cycle"
	}
	x, y := d.x[from.stage]+d.widths[from.stage], int(from.y)
	fmt.Fprintf(b, `<path class="%s" d="M%d %d`, classes, x, y)
	if !cycle {
		for stage := from.stage + 1; stage < to.stage; stage++ {
			lane := d.lanes[[2]int{e.To, stage}]
			fmt.Fprintf(b, " C%d %d %d %d %d %d H%d", x+bend, y, d.x[stage]-bend, int(lane.y),
				d.x[stage], int(lane.y), d.x[stage]+d.widths[stage])
			x, y = d.x[stage]+d.widths[stage], int(lane.y)
		}
	}
	x2, y2 := d.x[to.stage]-6, int(to.y)
	fmt.Fprintf(b, ` C%d %d %d %d %d %d">`, x+bend, y, x2-bend, y2, x2, y2)
	if e.Label != "" {
		fmt.Fprintf(b, "<title>%s</title>", escaped(e.Label))
	}
	fmt.Fprintf(b, `</path><path class="head" d="M%d %d l-6 -4 v8 z"/>`+"\n", x2+6, y2)
}

// escaped returns a text of XML.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
