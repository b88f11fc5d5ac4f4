package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The measures of a drawing, in pixels.
const (
	boxHeight   = 28
	rowHeight   = 40
	stageGap    = 90
	margin      = 20
	titleHeight = 36
	letterWidth = 7 // of the font, about
	sweeps      = 4 // of the search for an order with few crossings
)

// style colours a drawing by the preference of the reader for light or dark.
const style = `<style>
svg { background: #fff; font: 12px sans-serif; }
text { fill: #1f2328; } .title { font-size: 15px; font-weight: bold; } .label { font-size: 10px; }
rect { fill: #f6f8fa; stroke: #59636e; } .removed { stroke-dasharray: 4; } .join { rx: 14px; }
path { fill: none; stroke: #59636e; } .cycle { stroke: #cf222e; } marker path { fill: #59636e; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; } text { fill: #e6edf3; } rect { fill: #161b22; stroke: #9198a1; }
  path { stroke: #9198a1; } .cycle { stroke: #f85149; } marker path { fill: #9198a1; }
}
</style>
`

// SVG returns a drawing of the graph: a column for each stage, from left to right.
func SVG(g Graph) string {
	l := newLayout(g)
	d := &drawing{layout: l, x: make([]int, l.last), y: make([]int, len(g.Nodes))}
	d.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", d.width, d.height, d.width, d.height,
		escaped(g.Title))
	b.WriteString(style)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" ` +
		`markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", margin, margin+8,
		escaped(g.Title))
	for k, e := range l.edges {
		d.writeEdge(&b, e, l.cycles[k])
	}
	for i := range g.Nodes {
		d.writeNode(&b, i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawing is a layout with places.
type drawing struct {
	*layout
	x, widths     []int // by stage
	y             []int // by node
	width, height int
}

// place decides where nodes are. Within a stage they are ordered by the middle of their neighbours,
// so that few edges cross.
func (d *drawing) place() {
	columns := make([][]int, d.last)
	for i, stage := range d.stages {
		columns[stage-1] = append(columns[stage-1], i)
	}
	rows := make([]float64, len(d.Nodes))
	for _, column := range columns {
		for row, i := range column {
			rows[i] = float64(row)
		}
	}
	near := make([][]int, len(d.Nodes))
	for _, e := range d.edges {
		near[e.From], near[e.To] = append(near[e.From], e.To), append(near[e.To], e.From)
	}
	for range sweeps {
		for _, column := range columns {
			middle := map[int]float64{}
			for _, i := range column {
				if middle[i] = rows[i]; len(near[i]) > 0 {
					middle[i] = 0
					for _, j := range near[i] {
						middle[i] += rows[j] / float64(len(near[i]))
					}
				}
			}
			slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
			for row, i := range column {
				rows[i] = float64(row)
			}
		}
	}
	d.widths = make([]int, d.last)
	x, most := margin, 0
	for stage, column := range columns {
		for row, i := range column {
			d.widths[stage] = max(d.widths[stage], 20+letterWidth*utf8.RuneCountInString(d.Nodes[i].Name))
			d.y[i] = titleHeight + margin + row*rowHeight
		}
		d.x[stage] = x
		x += d.widths[stage] + stageGap
		most = max(most, len(column))
	}
	d.width = max(x-stageGap, 2*margin+9*utf8.RuneCountInString(d.Title)) + margin
	d.height = titleHeight + 2*margin + most*rowHeight
}

// writeNode writes the box of a node.
func (d *drawing) writeNode(b *strings.Builder, i int) {
	class, stage := "", d.stages[i]-1
	switch {
	case d.Nodes[i].Join:
		class = ` class="join"`
	case d.Nodes[i].Removed:
		class = ` class="removed"`
	}
	name := escaped(d.Nodes[i].Name)
	fmt.Fprintf(b, `<g><title>%s</title><rect%s x="%d" y="%d" width="%d" height="%d" rx="6"/>`,
		name, class, d.x[stage], d.y[i], d.widths[stage], boxHeight)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text></g>`+"\n", d.x[stage]+10, d.y[i]+18, name)
}

// writeEdge writes the curve of an edge. That of a cycle leads back above the boxes.
func (d *drawing) writeEdge(b *strings.Builder, e Edge, cycle bool) {
	from, to := d.stages[e.To]-1, d.stages[e.From]-1
	x1, y1 := d.x[from]+d.widths[from], d.y[e.To]+boxHeight/2
	x2, y2 := d.x[to], d.y[e.From]+boxHeight/2
	bend, class := max(40, (x2-x1)/2), ""
	if cycle {
		class, bend = ` class="cycle"`, stageGap/2
	}
	fmt.Fprintf(b, `<path%s marker-end="url(#arrow)" d="M%d %d C%d %d %d %d %d %d"/>`+"\n",
		class, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
	if e.Label != "" {
		fmt.Fprintf(b, `<text class="label" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			(x1+x2)/2, (y1+y2)/2-4, escaped(e.Label))
	}
}

// escaped returns a text of XML.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
