package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// policy lets the page load nothing.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
	"base-uri 'none'; form-action 'none'"

// writer writes a page. Templates of the standard library call methods by name, for which the
// linker would keep a quarter more code; so the page is written piece by piece, and text only by
// the method text, which escapes it.
type writer struct{ strings.Builder }

// html writes HTML of this package.
func (w *writer) html(pieces ...string) {
	for _, piece := range pieces {
		w.WriteString(piece)
	}
}

// text writes a text.
func (w *writer) text(text string) { w.WriteString(xmlText(clean(text))) }

// element writes an element with a text.
func (w *writer) element(open, text string) {
	name, _, _ := strings.Cut(open, " ")
	w.html("<", open, ">")
	w.text(text)
	w.html("</", name, ">")
}

// page returns runs as one HTML document that needs nothing else.
func page(runs []*Run) string {
	var w writer
	w.html(`<!DOCTYPE html>`, "\n", `<html lang="en"><head><meta charset="utf-8">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<meta name="referrer" content="no-referrer">`,
		`<meta http-equiv="Content-Security-Policy" content="`, policy, `">`)
	title := "no runs"
	for _, r := range runs {
		if !r.Recovers {
			title = r.Headline()
		}
	}
	w.element("title", firstLine(title))
	w.html("<style>", style, "</style></head><body>",
		`<a class="skip" href="#objects">Skip to the objects</a>`)
	p := pageOf{runs: runs, ids: map[*Object]string{}, places: map[*Object]int{}}
	for _, r := range runs {
		for _, o := range r.Objects {
			p.places[o] = len(p.places)
		}
	}
	p.header(&w)
	w.html("<main>")
	p.causes(&w)
	p.objects(&w)
	for _, r := range runs {
		p.graph(&w, r)
		p.timeline(&w, r)
	}
	w.html("</main>")
	if len(runs) > 0 {
		w.element("footer", strings.TrimSpace("muster "+runs[0].Tool))
	}
	w.html("<script>", script, "</script></body></html>\n")
	return w.String()
}

// pageOf holds what the parts of a page share.
type pageOf struct {
	runs   []*Run
	ids    map[*Object]string
	places map[*Object]int // in the plan
}

// id returns the anchor of an object.
func (p *pageOf) id(o *Object) string {
	if p.ids[o] == "" {
		p.ids[o] = fmt.Sprintf("o%d", len(p.ids)+1)
	}
	return p.ids[o]
}

func (p *pageOf) header(w *writer) {
	w.html("<header>")
	for i, r := range p.runs {
		heading := "h1"
		if i > 0 {
			heading = "h2"
		}
		w.element(heading, firstLine(r.Title()))
		p.outcome(w, r)
		p.counts(w, r)
		p.facts(w, r)
	}
	w.html(`</header><nav aria-label="Sections"><ul>`)
	for _, link := range [][2]string{{"causes", "Causes"}, {"objects", "Objects"},
		{"graph", "Dependencies"}, {"timeline", "Timeline"}} {
		w.html(`<li><a href="#`, link[0], `">`, link[1], "</a></li>")
	}
	w.html("</ul></nav>")
}

// outcome writes how a run ended.
func (p *pageOf) outcome(w *writer, r *Run) {
	word, class := cmp.Or(string(r.Outcome), "unfinished"), "bad"
	if r.PlanOnly {
		word, class = "planned", "none"
	}
	if r.Outcome == Succeeded {
		class = "good"
	}
	w.html(`<p class="result"><span class="outcome `, class, `">`)
	w.text(word)
	w.html("</span> ")
	if took := Seconds(r.Elapsed); took != "" && !r.PlanOnly {
		w.text("after " + took)
	}
	w.html("</p>")
	if r.Error != "" {
		w.element(`pre class="error"`, clip(r.Error, maxDetailBytes))
	}
}

// counts writes how many objects have which state, as a bar and as links that filter the objects.
func (p *pageOf) counts(w *writer, r *Run) {
	w.html(`<div class="bar" aria-hidden="true">`)
	for _, c := range r.Counts() {
		w.html(`<span class="`, c.State.class(), `" style="flex-grow:`, fmt.Sprint(c.Count), `"></span>`)
	}
	w.html(`</div><ul class="counts" aria-label="Objects by state">`)
	for _, c := range r.Counts() {
		w.html(`<li><a href="#objects" data-state=`, attribute(string(c.State)), `><b class="`,
			c.State.class(), `">`, fmt.Sprint(c.Count), "</b> ")
		w.text(cmp.Or(countWords[c.State], string(c.State)))
		w.html("</a></li>")
	}
	w.html("</ul>")
}

// facts writes what is known about a run.
func (p *pageOf) facts(w *writer, r *Run) {
	facts := [][2]string{{"Set", r.Set}, {"Namespace", r.Namespace}, {"Cluster", r.Cluster},
		{"Folder", r.Folder}}
	if r.Recovery != nil {
		facts = append(facts, [2]string{"Recovery", r.Recovery.String()})
	}
	if !r.Began.IsZero() {
		facts = append(facts, [2]string{"Began", r.Began.UTC().Format(time.RFC3339)})
	}
	w.html(`<dl class="facts">`)
	for _, fact := range facts {
		if fact[1] != "" {
			w.html("<div><dt>", fact[0], "</dt>")
			w.element("dd", fact[1])
			w.html("</div>")
		}
	}
	w.html("</dl>")
}

// class returns the class of the colour of a state.
func (s State) class() string {
	switch s {
	case StateFailed, TimedOut, Unfinished, ToFail:
		return "bad"
	case Pending, Waiting, Skipped, "skip", ToRecreate, ToPrune:
		return "wait"
	case Created, Configured, Deleted, ToCreate, ToConfigure:
		return "good"
	default:
		return "none"
	}
}

func (p *pageOf) causes(w *writer) {
	w.html(`<section id="causes" aria-labelledby="causes-title"><h2 id="causes-title">Causes</h2>`)
	none := true
	for _, r := range p.runs {
		for _, d := range r.Details() {
			none = false
			p.cause(w, r, d)
		}
	}
	if none {
		w.html(`<p class="soft">No object failed.</p>`)
	}
	w.html("</section>")
}

func (p *pageOf) cause(w *writer, r *Run, d Detail) {
	w.html(`<article class="cause`)
	if d.Conseq {
		w.html(" follows")
	}
	w.html(`">`)
	w.element("h3", d.Title())
	w.element(`p class="reason"`, clip(d.Text, maxDetailBytes))
	if len(d.Log) > 0 {
		w.element(`pre class="log" role="group" aria-label="Last log lines"`, strings.Join(d.Log, "\n"))
	}
	w.html(`<dl class="facts">`)
	if source := d.Objects[0].Source; source != "" {
		w.html("<div><dt>File</dt><dd>")
		w.element("code", source)
		w.html("</dd></div>")
	}
	if d.Next != "" {
		w.html("<div><dt>Next</dt><dd>")
		w.element("code", d.Next)
		w.html("</dd></div>")
	}
	w.html("<div><dt>Objects</dt><dd>")
	for i, problem := range d.Objects {
		if i == 5*maxNames {
			w.text(fmt.Sprintf(" and %d more", len(d.Objects)-i))
			break
		}
		if i > 0 {
			w.html(", ")
		}
		p.link(w, r, problem.Ref)
	}
	w.html("</dd></div></dl></article>")
}

// link writes a link to an object.
func (p *pageOf) link(w *writer, r *Run, ref object.Ref) {
	o := r.byRef[ref]
	if o == nil {
		w.text(ref.String())
		return
	}
	w.html(`<a href="#`, p.id(o), `">`)
	w.text(ref.String())
	w.html("</a>")
}

func (p *pageOf) objects(w *writer) {
	w.html(`<section id="objects" aria-labelledby="objects-title" tabindex="-1">`,
		`<h2 id="objects-title">Objects</h2>`)
	p.tools(w)
	w.html(`<ul class="objects">`)
	for _, r := range p.runs {
		for _, o := range r.byImportance() {
			p.object(w, r, o)
		}
	}
	w.html("</ul></section>")
}

// tools writes the fields that filter and order the objects. They need the script.
func (p *pageOf) tools(w *writer) {
	w.html(`<div class="tools" hidden role="search">`,
		`<div class="wide"><label for="filter">Filter by kind, name, namespace or message</label>`,
		`<input id="filter" type="search" autocomplete="off" spellcheck="false"></div>`,
		`<div><label for="state">State</label><select id="state"><option value="">all</option>`,
		`<option value="changed">changed</option>`)
	var states []State
	for _, r := range p.runs {
		for _, c := range r.Counts() {
			if !slices.Contains(states, c.State) {
				states = append(states, c.State)
			}
		}
	}
	for _, s := range states {
		w.element(`option value="`+xmlText(string(s))+`"`, string(s))
	}
	w.html(`</select></div><div><label for="order">Order</label><select id="order">`,
		`<option value="rank">failed first</option><option value="place">as planned</option>`,
		`<option value="took">slowest first</option></select></div>`,
		`<div class="buttons"><button type="button" id="unfold">Unfold all</button> `,
		`<button type="button" id="fold">Fold all</button></div>`,
		`<p id="shown" role="status"></p></div>`)
}

// rank returns the importance of an object for a reader, 0 for the most important.
func (o *Object) rank() int {
	switch {
	case o.Bad():
		return 0
	case o.State == Skipped || o.State == Kept || o.State == Pending || o.State == Waiting:
		return 1
	case o.Changed():
		return 2
	default:
		return 3
	}
}

// byImportance returns the objects, those that failed first, then those that change.
func (r *Run) byImportance() []*Object {
	return slices.SortedStableFunc(slices.Values(r.Objects), func(a, b *Object) int {
		return cmp.Compare(a.rank(), b.rank())
	})
}

func (p *pageOf) object(w *writer, r *Run, o *Object) {
	changed := "0"
	if o.Changed() {
		changed = "1"
	}
	search := strings.ToLower(strings.Join([]string{o.Kind, o.Group, o.Ref.String(), string(o.State),
		o.Source, firstLine(o.reason())}, " "))
	w.html(`<li id="`, p.id(o), `" data-state=`, attribute(string(o.State)), ` data-changed="`,
		changed, `" data-place="`, fmt.Sprint(p.places[o]), `" data-rank="`, fmt.Sprint(o.rank()),
		`" data-took="`, fmt.Sprint(o.took()), `" data-text=`, attribute(search),
		`><details><summary><span class="state `, o.State.class(), `">`, o.sign(), " ")
	w.text(string(o.State))
	w.html(`</span><span class="name"><span class="soft">`)
	place, found := strings.CutSuffix(plaintext.Line(o.Ref.String()), plaintext.Line(o.Name))
	if !found {
		place = ""
	}
	w.WriteString(xmlText(place))
	w.html("</span>")
	w.text(o.Name)
	if reason := firstLine(o.reason()); reason != "" && o.rank() < 2 {
		w.element(`span class="why"`, clip(reason, maxReasonBytes))
	}
	w.html("</span>")
	if o.took() > 0 {
		w.element(`span class="after"`, "after "+Seconds(o.took()))
	}
	w.html("</summary><div>")
	p.content(w, r, o)
	w.html("</div></details></li>\n")
}

// maxReasonBytes limits the reason beside the name of an object.
const maxReasonBytes = 200

// content writes what a fold shows of an object.
func (p *pageOf) content(w *writer, r *Run, o *Object) {
	if o.Source != "" {
		w.html("<p>Source: ")
		w.element("code", o.Source)
		w.html("</p>")
	}
	for _, text := range []string{o.Error, o.Message} {
		if text != "" {
			w.element("p", clip(text, maxDetailBytes))
		}
	}
	p.evidence(w, o.Ref, o.Causes)
	p.differences(w, o)
	if len(o.Needs) > 0 {
		w.html("<p>Waits for: ")
		for i, ref := range o.Needs[:min(len(o.Needs), maxNames)] {
			if i > 0 {
				w.html(", ")
			}
			p.link(w, r, ref)
		}
		if more := len(o.Needs) - maxNames; more > 0 {
			w.text(fmt.Sprintf(" and %d more", more))
		}
		w.html("</p>")
	}
}

// differences writes how an object changes.
func (p *pageOf) differences(w *writer, o *Object) {
	lines := o.diffLines()
	if len(lines) == 0 {
		return
	}
	w.html(`<pre class="diff" role="group" aria-label="Differences">`)
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		class := map[byte]string{'+': "add", '-': "del", '~': "mod"}[line[0]]
		w.html(`<span class="`, class, `">`, xmlText(line), "</span>\n")
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		w.text(fmt.Sprintf("… and %d more lines", more))
	}
	w.html("</pre>")
}

func (p *pageOf) evidence(w *writer, ref object.Ref, causes []ready.Cause) {
	for _, c := range causes {
		w.element("p", CauseText(ref, c))
		if len(c.Log) > 0 {
			w.element(`pre class="log" role="group" aria-label="Last log lines"`, strings.Join(c.Log, "\n"))
		}
	}
}

// shorten returns the beginning and the end of a text, at most n characters.
func shorten(text string, n int) string {
	runes := []rune(plaintext.Line(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-n/2-1):])
}

// number returns a number of SVG.
func number(f float64) string {
	text, _ := json.Marshal(float64(int(f*10)) / 10) // a finite number
	return string(text)
}
