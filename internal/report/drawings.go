package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The limits of drawings. A page with more would be slow, and nobody would see anything in it.
const (
	maxNodes = 400
	maxBars  = 150
)

// The measures of the graph in pixels.
const (
	nodeWidth, nodeHeight = 210.0, 26.0
	columnGap, rowGap     = 70.0, 8.0
)

// graph draws the objects that wait for others, and those that they wait for: a column for each
// level, from left to right.
func (p *pageOf) graph(w *writer, r *Run) {
	w.html(`<section id="graph" aria-labelledby="graph-title"><h2 id="graph-title">Dependencies</h2>`)
	defer w.html("</section>")
	nodes, alone := r.connected()
	if len(nodes) == 0 {
		w.html(`<p class="soft">No object waits for another.</p>`)
		return
	}
	w.element(`p class="soft"`, fmt.Sprintf("Arrows lead from an object to those that wait for it. "+
		"%d objects wait for no other and are not drawn.", alone))
	if more := len(nodes) - maxNodes; more > 0 {
		w.element("p", fmt.Sprintf("%d more objects are not drawn; each object below lists what it "+
			"waits for.", more))
		nodes = nodes[:maxNodes]
	}
	levels := r.levels()
	places, rows := map[*Object][2]float64{}, map[int]int{}
	width, height := 0.0, 0.0
	for _, o := range nodes {
		level := levels[o]
		x := 10 + float64(level)*(nodeWidth+columnGap)
		y := 10 + float64(rows[level])*(nodeHeight+rowGap)
		rows[level]++
		places[o] = [2]float64{x, y}
		width, height = max(width, x+nodeWidth+10), max(height, y+nodeHeight+10)
	}
	w.html(`<div class="scroll" tabindex="0" role="group" aria-label="Graph of dependencies">`,
		`<svg width="`, number(width), `" height="`, number(height),
		`" aria-label="Graph of dependencies">`)
	for _, o := range nodes {
		for _, ref := range o.Needs {
			from, drawn := places[r.byRef[ref]]
			if !drawn {
				continue
			}
			to := places[o]
			x1, y1 := from[0]+nodeWidth, from[1]+nodeHeight/2
			x2, y2 := to[0], to[1]+nodeHeight/2
			w.html(`<path class="edge" d="M`, number(x1), " ", number(y1), " C", number(x1+columnGap/2),
				" ", number(y1), " ", number(x2-columnGap/2), " ", number(y2), " ", number(x2-5), " ",
				number(y2), " m-5 -4 l6 4 l-6 4", `"/>`)
		}
	}
	for _, o := range nodes {
		at := places[o]
		w.html(`<a href="#`, p.id(o), `"><title>`)
		w.text(o.Ref.String() + ": " + string(o.State))
		w.html(`</title><rect class="node `, o.State.class(), `" x="`, number(at[0]), `" y="`,
			number(at[1]), `" width="`, number(nodeWidth), `" height="`, number(nodeHeight),
			`" rx="4"/><text x="`, number(at[0]+8), `" y="`, number(at[1]+17), `">`)
		w.text(o.sign() + " " + shorten(o.Short(), 30))
		w.html("</text></a>")
	}
	w.html("</svg></div>")
}

// connected returns the objects with an edge, and the number of the others.
func (r *Run) connected() (nodes []*Object, alone int) {
	has := map[*Object]bool{}
	for _, o := range r.Objects {
		for _, ref := range o.Needs {
			if need := r.byRef[ref]; need != nil {
				has[o], has[need] = true, true
			}
		}
	}
	for _, o := range r.Objects {
		if has[o] {
			nodes = append(nodes, o)
		} else {
			alone++
		}
	}
	return nodes, alone
}

// levels returns the length of the longest chain of objects that each object waits for. A plan
// lists an object after those that it needs; others count as if they had no needs.
func (r *Run) levels() map[*Object]int {
	levels, known := map[*Object]int{}, map[*Object]bool{}
	for _, o := range r.Objects {
		for _, ref := range o.Needs {
			if need := r.byRef[ref]; known[need] {
				levels[o] = max(levels[o], levels[need]+1)
			}
		}
		known[o] = true
	}
	return levels
}

// before returns the object whose end an object waited for last, and when that was.
func (r *Run) before(o *Object) (*Object, float64) {
	var last *Object
	for _, ref := range o.Needs {
		if need := r.byRef[ref]; need != nil && need != o && need.took() > 0 &&
			(last == nil || need.took() > last.took()) {
			last = need
		}
	}
	if last == nil && o.removes() && !r.Destroys { // prunes follow all that is applied
		for _, other := range r.Objects {
			if !other.removes() && other.took() > 0 && other.took() <= o.took() &&
				(last == nil || other.took() > last.took()) {
				last = other
			}
		}
	}
	if last == nil {
		return nil, 0
	}
	return last, last.took()
}

// removes reports whether the object leaves the set.
func (o *Object) removes() bool {
	switch o.Operation {
	case "delete", "orphan", "keep", "await-deleted":
		return true
	default:
		return false
	}
}

// CriticalPath returns the chain of objects that decided how long the run took: the object that was
// done last, after the one that it waited for last, and so on.
func (r *Run) CriticalPath() []*Object {
	var last *Object
	for _, o := range r.Objects {
		if o.took() > 0 && (last == nil || o.took() > last.took()) {
			last = o
		}
	}
	var path []*Object
	for last != nil && !slices.Contains(path, last) {
		path = append(path, last)
		last, _ = r.before(last)
	}
	slices.Reverse(path)
	return path
}

// timeline draws when objects were written and ready, the critical path first.
func (p *pageOf) timeline(w *writer, r *Run) {
	w.html(`<section id="timeline" aria-labelledby="timeline-title">`,
		`<h2 id="timeline-title">Timeline</h2>`)
	defer w.html("</section>")
	path := r.CriticalPath()
	if len(path) == 0 {
		w.html(`<p class="soft">There are no times.</p>`)
		return
	}
	w.html("<h3>Critical path</h3><ol>")
	for _, o := range path {
		_, start := r.before(o)
		w.html("<li>")
		p.link(w, r, o.Ref)
		w.text(fmt.Sprintf(": %s, after %s", cmp.Or(Seconds(o.took()-start), "0s"), Seconds(o.took())))
		w.html("</li>")
	}
	w.html("</ol>")
	bars := r.bars(path)
	if more := r.timed() - len(bars); more > 0 {
		w.element(`p class="soft"`, fmt.Sprintf(
			"The %d objects that took longest; %d more are not drawn.", len(bars), more))
	}
	p.drawBars(w, r, bars, path)
}

// timed returns the number of objects with a time.
func (r *Run) timed() int {
	n := 0
	for _, o := range r.Objects {
		if o.took() > 0 {
			n++
		}
	}
	return n
}

// bars returns the objects of the timeline: the critical path, and those that took longest, in the
// order in which they began.
func (r *Run) bars(path []*Object) []*Object {
	bars := slices.DeleteFunc(slices.Clone(r.Objects), func(o *Object) bool { return o.took() == 0 })
	starts := map[*Object]float64{}
	for _, o := range bars {
		_, starts[o] = r.before(o)
	}
	if len(bars) > maxBars {
		slices.SortStableFunc(bars, func(a, b *Object) int {
			return cmp.Or(order(slices.Contains(path, b), slices.Contains(path, a)),
				cmp.Compare(b.took()-starts[b], a.took()-starts[a]))
		})
		bars = bars[:maxBars]
	}
	slices.SortStableFunc(bars, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(starts[a], starts[b]), cmp.Compare(a.took(), b.took()))
	})
	return bars
}

func (p *pageOf) drawBars(w *writer, r *Run, bars, path []*Object) {
	const left, scale, row = 250.0, 700.0, 22.0
	total := max(r.Elapsed, 0.001)
	height := float64(len(bars))*row + 30
	w.html(`<p class="soft">From the left: the wait for other objects, the write, the time until `,
		`it was ready or gone. The critical path is outlined.</p>`,
		`<div class="scroll" tabindex="0" role="group" aria-label="Timeline"><svg width="`,
		number(left+scale+20), `" height="`, number(height), `" aria-label="Timeline">`)
	for i := range 5 {
		x := left + scale*float64(i)/4
		w.html(`<line class="axis" x1="`, number(x), `" x2="`, number(x), `" y1="20" y2="`,
			number(height), `"/><text text-anchor="middle" x="`, number(x), `" y="14">`,
			cmp.Or(Seconds(total*float64(i)/4), "0s"), "</text>")
	}
	for i, o := range bars {
		_, start := r.before(o)
		y := 26 + float64(i)*row
		class, outline := "ready", ""
		if o.Bad() {
			class = "ready bad"
		}
		if slices.Contains(path, o) {
			outline = " critical"
		}
		w.html(`<a href="#`, p.id(o), `"><title>`)
		w.text(fmt.Sprintf("%s: begun %s, written %s, done %s", o.Ref, cmp.Or(Seconds(start), "0s"),
			cmp.Or(Seconds(o.Written), "never"), Seconds(o.took())))
		w.html(`</title><text x="4" y="`, number(y+12), `">`)
		w.text(shorten(strings.TrimSpace(o.sign()+" "+o.Short()), 36))
		w.html("</text>")
		bar := func(class string, from, to float64) {
			w.html(`<rect class="`, class, `" x="`, number(left+scale*from/total), `" y="`, number(y),
				`" width="`, number(max(scale*(to-from)/total, 2)), `" height="15" rx="2"/>`)
		}
		written := max(o.Written, start)
		bar("write"+outline, start, written)
		if o.took() > written {
			bar(class+outline, written, o.took())
		}
		w.html("</a>")
	}
	w.html("</svg></div>")
}
