package draw

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// The measures of a drawing, in pixels.
const (
	boxHeight   = 28
	rowHeight   = 40 // from box to box
	laneHeight  = 14 // from edge to edge where edges pass a stage
	stageGap    = 76
	margin      = 20
	letterWidth = 7 // of the font, about
	sweeps      = 8 // of the search for an order with few crossings, and for places
)

// item is what has a place in a stage: a node, or a lane in which the edges that lead from a node
// to later stages pass.
type item struct {
	node         int // or, of a lane, the node that its edges lead from
	lane         bool
	stage        int
	y            float64 // of its middle
	before, next []*item // what is connected to it in the stages beside it
}

// height returns the room that an item needs.
func (t *item) height() float64 {
	if t.lane {
		return laneHeight
	}
	return rowHeight
}

// drawing is a layout with places.
type drawing struct {
	*layout
	columns       [][]*item // by stage
	nodes         []*item   // by node
	lanes         map[[2]int]*item
	x, widths     []int // by stage
	width, height int
	reasons       []string // of edges, in the order of their lines
}

// newDrawing decides where nodes are: a column for each stage. Within a column they are ordered by
// the middle of what they are connected to, so that few edges cross, and are as near to it as the
// others let them. An edge to a later stage passes the stages between in a lane of its own, which
// all edges of a node share.
func newDrawing(g Graph, top int) *drawing {
	d := &drawing{layout: newLayout(g), lanes: map[[2]int]*item{}}
	d.columns = make([][]*item, d.last)
	for i := range g.Nodes {
		t := d.add(&item{node: i, stage: d.stages[i] - 1})
		d.nodes = append(d.nodes, t)
	}
	for k, e := range d.edges {
		if !d.cycles[k] {
			d.connect(e)
		}
	}
	d.order()
	for range sweeps {
		d.align(func(t *item) []*item { return t.before }, false)
		d.align(func(t *item) []*item { return t.next }, true)
	}
	d.align(func(t *item) []*item { return t.before }, false)
	d.measure(top)
	return d
}

// add adds an item to its column.
func (d *drawing) add(t *item) *item {
	d.columns[t.stage] = append(d.columns[t.stage], t)
	return t
}

// connect connects the items that an edge passes.
func (d *drawing) connect(e Edge) {
	last, to := d.nodes[e.To], d.nodes[e.From]
	for stage := last.stage + 1; stage < to.stage; stage++ {
		lane := d.lanes[[2]int{e.To, stage}]
		if lane == nil {
			lane = d.add(&item{node: e.To, lane: true, stage: stage})
			d.lanes[[2]int{e.To, stage}] = lane
			last.next, lane.before = append(last.next, lane), []*item{last}
		}
		last = lane
	}
	last.next, to.before = append(last.next, to), append(to.before, last)
}

// order orders columns by the middles of neighbours, back and forth.
func (d *drawing) order() {
	rank := map[*item]float64{}
	number := func(column []*item) {
		for row, t := range column {
			rank[t] = float64(row) - float64(len(column))/2
		}
	}
	for _, column := range d.columns {
		number(column)
	}
	arrange := func(column []*item, neighbours func(*item) []*item) {
		middle := map[*item]float64{}
		for _, t := range column {
			middle[t] = mean(neighbours(t), rank[t], func(o *item) float64 { return rank[o] })
		}
		slices.SortStableFunc(column, func(a, b *item) int { return cmp.Compare(middle[a], middle[b]) })
		number(column)
	}
	for range sweeps {
		for _, column := range slices.Backward(d.columns) {
			arrange(column, func(t *item) []*item { return t.next })
		}
		for _, column := range d.columns {
			arrange(column, func(t *item) []*item { return t.before })
		}
	}
}

// mean returns the mean of a value of items, or another if there are none.
func mean(items []*item, otherwise float64, value func(*item) float64) float64 {
	if len(items) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, t := range items {
		sum += value(t)
	}
	return sum / float64(len(items))
}

// align moves the items of each column as near to the middle of their neighbours as their order
// lets them.
func (d *drawing) align(neighbours func(*item) []*item, backward bool) {
	columns := slices.Clone(d.columns)
	if backward {
		slices.Reverse(columns)
	}
	for _, column := range columns {
		wanted := make([]float64, len(column))
		for i, t := range column {
			wanted[i] = mean(neighbours(t), t.y, func(o *item) float64 { return o.y })
		}
		spread(column, wanted)
	}
}

// block is a run of items without room between them. Base is the place of the first of them that is
// best for all.
type block struct {
	base         float64
	first, count int
}

// spread places items at the least squared distance from where they are wanted, in their order and
// with the room that they need: items that are in each other's way move together.
func spread(column []*item, wanted []float64) {
	offsets := make([]float64, len(column)) // of items that follow each other closely
	for i := 1; i < len(column); i++ {
		offsets[i] = offsets[i-1] + (column[i-1].height()+column[i].height())/2
	}
	var blocks []block
	for i := range column {
		blocks = append(blocks, block{wanted[i] - offsets[i], i, 1})
		for n := len(blocks); n > 1 && blocks[n-2].base > blocks[n-1].base; n-- {
			a, b := blocks[n-2], blocks[n-1]
			sum := a.base*float64(a.count) + b.base*float64(b.count)
			blocks = append(blocks[:n-2],
				block{sum / float64(a.count+b.count), a.first, a.count + b.count})
		}
	}
	for _, b := range blocks {
		for i := b.first; i < b.first+b.count; i++ {
			column[i].y = b.base + offsets[i]
		}
	}
}

// measure moves the drawing to its margins, and computes the columns and the size.
func (d *drawing) measure(top int) {
	least, most := math.Inf(1), 0.0
	d.each(func(t *item) { least = min(least, t.y-t.height()/2) })
	d.each(func(t *item) {
		t.y = math.Round(t.y - least + float64(top))
		most = max(most, t.y+t.height()/2)
	})
	x := margin
	for _, column := range d.columns {
		width := 0
		for _, t := range column {
			if !t.lane {
				width = max(width, 20+letterWidth*utf8.RuneCountInString(d.Nodes[t.node].Name))
			}
		}
		d.x, d.widths = append(d.x, x), append(d.widths, width)
		x += width + stageGap
	}
	d.width, d.height = max(x-stageGap+margin, 2*margin), int(max(most, float64(top)))+margin/2
}

func (d *drawing) each(visit func(*item)) {
	for _, column := range d.columns {
		for _, t := range column {
			visit(t)
		}
	}
}
