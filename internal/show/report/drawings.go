package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/show/draw"
)

// The limits of drawings. A page with more would be slow, and nobody would see anything in it.
const (
	maxNodes = 120
	maxBars  = 100
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
	text := "Lines lead from an object to those that wait for it; what other lines imply is left out."
	if alone > 0 {
		text += fmt.Sprintf(" Not drawn: %d without dependencies.", alone)
	}
	path := r.CriticalPath()
	if len(path) > 1 {
		text += " The critical path is bold."
	}
	w.element(`p class="soft"`, text)
	if more := len(nodes) - maxNodes; more > 0 {
		nodes = r.important(nodes, path)
		w.element(`p class="note"`, fmt.Sprintf("This is a part of the graph: what failed, what that "+
			"waits for, the critical path, and what changed. %d more objects are not drawn; each object "+
			"above lists what it waits for.", more))
	}
	w.html(`<div class="scroll" tabindex="0" role="group" aria-label="Graph of dependencies">`,
		draw.Inline(p.drawing(r, nodes, path)), "</div>")
}

// drawing returns the graph of some objects.
func (p *pageOf) drawing(r *Run, nodes, path []*Object) draw.Graph {
	g, numbers := draw.Graph{Title: "Dependencies"}, map[*Object]int{}
	for i, o := range nodes {
		numbers[o] = i
		node := draw.Node{
			Name: o.sign() + " " + shorten(o.Short(), 36), Removed: o.removes(), Class: o.State.class(),
			Title: plaintext.Line(o.Ref.String() + ": " + string(o.State)), Link: "#" + p.id(o),
		}
		if slices.Contains(path, o) {
			node.Class += " critical"
		}
		g.Nodes = append(g.Nodes, node)
	}
	for i, o := range nodes {
		for _, ref := range o.Needs {
			need := r.byRef[ref]
			to, drawn := numbers[need]
			if !drawn {
				continue
			}
			edge := draw.Edge{From: i, To: to}
			if at := slices.Index(path, o); at > 0 && path[at-1] == need {
				edge.Class = "critical"
			}
			g.Edges = append(g.Edges, edge)
		}
	}
	return g
}

// important returns at most maxNodes of the nodes of the graph, in their order: those that failed
// with all that they wait for, the critical path, those that change, and then the others.
func (r *Run) important(nodes, path []*Object) []*Object {
	chosen := map[*Object]bool{}
	var choose func(o *Object)
	choose = func(o *Object) {
		if o == nil || chosen[o] || len(chosen) == maxNodes {
			return
		}
		chosen[o] = true
		for _, ref := range o.Needs {
			choose(r.byRef[ref])
		}
	}
	for _, o := range slices.Backward(path) {
		choose(o)
	}
	for _, o := range r.byImportance() {
		if slices.Contains(nodes, o) {
			choose(o)
		}
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(o *Object) bool { return !chosen[o] })
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
	case "delete", "orphan", "keep", "await-deleted", "prune":
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
			"The critical path, what failed and what took longest; %d more objects are not drawn.", more))
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

// bars returns the objects of the timeline: the critical path, those that failed, and those that
// took longest, in the order in which they began.
func (r *Run) bars(path []*Object) []*Object {
	bars := slices.DeleteFunc(slices.Clone(r.Objects), func(o *Object) bool { return o.took() == 0 })
	starts := map[*Object]float64{}
	for _, o := range bars {
		_, starts[o] = r.before(o)
	}
	if len(bars) > maxBars {
		slices.SortStableFunc(bars, func(a, b *Object) int {
			return cmp.Or(order(slices.Contains(path, b), slices.Contains(path, a)), order(b.Bad(), a.Bad()),
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
		number(left+scale+20), `" height="`, number(height), `" role="group" aria-label="Timeline">`)
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
