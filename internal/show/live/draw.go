package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// sectionForm is how a section is drawn.
type sectionForm struct {
	title string
	sign  string
	ascii string // the sign where only ASCII is shown
	style fullscreen.Style
}

// forms returns how the sections of a run are drawn.
func (r *Run) forms() [sections]sectionForm {
	f := [sections]sectionForm{
		failed:  {title: "failed", sign: "✗", ascii: "x", style: fullscreen.Red},
		waiting: {title: "not ready", sign: "●", ascii: "*", style: fullscreen.Yellow},
		writing: {title: "being applied", sign: "→", ascii: ">", style: fullscreen.Cyan},
		pending: {title: "pending", sign: "·", ascii: ".", style: fullscreen.Plain},
		skipped: {title: "skipped", sign: "-", ascii: "-", style: fullscreen.Plain},
		done:    {title: "done", sign: "✓", ascii: "+", style: fullscreen.Green},
	}
	if r.state.Plan.Destroys {
		f[waiting].title, f[writing].title = "not gone", "being deleted"
	}
	return f
}

func (f sectionForm) mark(ascii bool) fullscreen.Span {
	if ascii {
		return fullscreen.Span{Text: f.ascii, Style: f.style}
	}
	return fullscreen.Span{Text: f.sign, Style: f.style}
}

// Frame returns the screen: a title, a bar, the list, a message if there is one, and the keys.
func (r *Run) Frame(columns, rows int) []fullscreen.Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cut(spell(r.lines(columns, rows), r.options.ASCII), columns)
}

// cut cuts lines to the given columns.
func cut(lines []fullscreen.Line, columns int) []fullscreen.Line {
	for _, line := range lines {
		room := columns
		for i := range line {
			line[i].Text = fullscreen.Cut(line[i].Text, room)
			room -= fullscreen.Width(line[i].Text)
		}
	}
	return lines
}

// spell returns lines in the characters that the terminal shows.
func spell(lines []fullscreen.Line, ascii bool) []fullscreen.Line {
	if !ascii {
		return lines
	}
	for _, line := range lines {
		for i := range line {
			line[i].Text = strings.Map(func(c rune) rune {
				if c > '~' {
					return '?' // its width would not be known
				}
				return c
			}, plaintext.ASCII(line[i].Text))
		}
	}
	return lines
}

func (r *Run) lines(columns, rows int) []fullscreen.Line {
	forms := r.forms()
	head := []fullscreen.Line{r.titleLine(columns), r.barLine(forms, columns)}
	var foot []fullscreen.Line
	if text := r.message(); text != "" {
		foot = append(foot, fullscreen.Line{{Text: r.ellipsis(text, columns), Style: fullscreen.Yellow}})
	}
	foot = append(foot, r.keysLine(columns))
	switch { // a low screen has the most important lines
	case rows <= 1:
		return head[1:2]
	case rows <= 2:
		return head
	case rows < len(head)+len(foot)+1:
		foot = nil
	}
	height := rows - len(head) - len(foot)
	body := r.help(height)
	if body == nil && r.log != nil {
		body = r.log.body(columns, height, r.options.ASCII)
	}
	if body == nil {
		body = r.body(forms, columns, height)
	}
	for len(body) < height {
		body = append(body, nil)
	}
	return append(append(head, body[:height]...), foot...)
}

func (r *Run) message() string {
	if r.hint != "" {
		return r.hint
	}
	if r.notice != "" {
		return plaintext.Line(r.notice)
	}
	return plaintext.Line(r.warning)
}

// titleLine returns what is run, and the time since its begin.
func (r *Run) titleLine(columns int) fullscreen.Line {
	took := clock(r.options.Now().Sub(r.began))
	title := r.ellipsis(plaintext.Line(r.options.Title), columns-len(took)-1)
	gap := max(1, columns-fullscreen.Width(title)-len(took))
	return fullscreen.Line{
		{Text: title, Style: fullscreen.Bold}, {Text: strings.Repeat(" ", gap) + took},
	}
}

// barLine returns the progress bar and the counts of the sections.
func (r *Run) barLine(forms [sections]sectionForm, columns int) fullscreen.Line {
	ended := r.counts[done] + r.counts[failed] + r.counts[skipped]
	words := fmt.Sprintf("%d/%d", ended, r.total)
	room := columns - len("[] ") - minBar
	for _, s := range []section{failed, waiting, writing, pending, skipped} {
		long := fmt.Sprintf("  %d %s", r.counts[s], forms[s].title)
		short := fmt.Sprintf(" %s%d", forms[s].mark(r.options.ASCII).Text, r.counts[s])
		switch {
		case r.counts[s] == 0:
		case fullscreen.Width(words+long) <= room:
			words += long
		case s == failed && fullscreen.Width(words+short) <= room:
			words += short
		}
	}
	bar := max(0, min(maxBar, columns-len("[] ")-fullscreen.Width(words)))
	return append(r.bar(bar), fullscreen.Span{Text: " " + words})
}

// The columns of a bar.
const (
	minBar = 8
	maxBar = 40
)

// bar returns a bar whose parts are the objects that are done, that failed, that wait, and others.
func (r *Run) bar(columns int) fullscreen.Line {
	full, part, rest := "█", "▒", "░"
	if r.options.ASCII {
		full, part, rest = "#", "=", "."
	}
	cells := func(n int) int {
		if r.total == 0 {
			return columns
		}
		return n * columns / r.total
	}
	ended := cells(r.counts[done] + r.counts[skipped])
	bad := cells(r.counts[done]+r.counts[skipped]+r.counts[failed]) - ended
	if r.counts[failed] > 0 && bad == 0 { // one failure among thousands is seen
		bad = min(1, columns)
		ended = min(ended, columns-bad)
	}
	open := max(0, cells(r.total-r.counts[pending])-ended-bad)
	return fullscreen.Line{
		{Text: "["},
		{Text: strings.Repeat(full, ended), Style: fullscreen.Green},
		{Text: strings.Repeat(full, bad), Style: fullscreen.Red},
		{Text: strings.Repeat(part, open), Style: fullscreen.Yellow},
		{Text: strings.Repeat(rest, columns-ended-bad-open) + "]"},
	}
}

// keysLine returns the most important keys that fit, or the filter while it is typed.
func (r *Run) keysLine(columns int) fullscreen.Line {
	if r.list.typing {
		return fullscreen.Line{
			{Text: "/" + r.list.filter + "_"}, {Text: "  Enter keep  Esc all", Style: fullscreen.Faint},
		}
	}
	arrows := "↑↓"
	if r.options.ASCII {
		arrows = "j/k"
	}
	text := ""
	if r.list.filter != "" {
		text = "/" + r.list.filter + "  Esc all"
	}
	keys := []string{"? keys", "Ctrl-C stop", arrows + " select", "Enter unfold", "l log",
		"f problems", "/ filter"}
	if r.log != nil {
		text = "Esc back"
		keys = []string{arrows + " scroll", "G follow", r.log.state(), "? keys"}
	}
	for _, key := range keys {
		if text == "" {
			text = key
		} else if fullscreen.Width(text)+2+fullscreen.Width(key) <= columns {
			text += "  " + key
		}
	}
	return fullscreen.Line{{Text: r.ellipsis(text, columns), Style: fullscreen.Faint}}
}

// help returns the list of keys if the user has asked for it, else nil.
func (r *Run) help(height int) []fullscreen.Line {
	if !r.list.help {
		return nil
	}
	keys := runKeys
	if r.log != nil {
		keys = logKeys
	}
	lines := make([]fullscreen.Line, 0, len(keys))
	for _, k := range keys {
		lines = append(lines, fullscreen.Line{{Text: fmt.Sprintf("  %-19s %s", k[0], k[1])}})
	}
	return lines[:min(len(lines), height)]
}

// runKeys are the keys and what they do. docs/output.md has the same list.
var runKeys = [][2]string{
	{"Up Down, k j", "select another object"},
	{"PgUp PgDn, b Space", "one page up or down"},
	{"Home End, g G", "the first or the last object"},
	{"Enter, Right Left", "unfold or fold a section or an object"},
	{"l", "show the log of the object's pods as it grows; Esc closes it"},
	{"f", "show only what failed or is not ready, or everything"},
	{"/", "filter objects by name; Enter keeps the filter"},
	{"Esc", "show everything again"},
	{"Ctrl-L", "draw the screen again"},
	{"Ctrl-Z", "suspend; fg continues"},
	{"Ctrl-C", "finish writes in progress and stop; twice: stop at once"},
	{"?", "show or hide the keys"},
}

// body returns the lines of the list that are on the screen.
func (r *Run) body(forms [sections]sectionForm, columns, height int) []fullscreen.Line {
	l := &r.list
	all, shown := r.items()
	l.page = height
	if len(all) == 0 {
		return []fullscreen.Line{{{Text: r.emptyText()}}}
	}
	position := r.find(all)
	if l.chosen {
		l.selected, l.position = all[position], position
	}
	// Of the items above the selected one only the details of objects have several lines.
	tops, lines := make([]int, len(all)+1), 0
	for i, it := range all {
		tops[i] = lines
		lines++
		if it.step >= 0 && r.rows[it.step].open {
			lines += len(r.details(it.step, columns))
		}
	}
	tops[len(all)] = lines
	l.scroll(tops[position], tops[position+1], lines, height)
	var body []fullscreen.Line
	names := r.nameColumns(columns)
	for i, it := range all {
		if tops[i+1] <= l.top || tops[i] >= l.top+height {
			continue
		}
		var block []fullscreen.Line
		if it.step < 0 {
			block = append(block, r.sectionLine(forms, it.section, shown[it.section]))
		} else {
			block = append(block, r.objectLine(forms, it.step, columns, names))
			if r.rows[it.step].open {
				block = append(block, r.details(it.step, columns)...)
			}
		}
		if i == position && l.chosen {
			block[0] = append(fullscreen.Line{{Text: ">", Style: fullscreen.Reversed}}, block[0]...)
		} else {
			block[0] = append(fullscreen.Line{{Text: " "}}, block[0]...)
		}
		body = append(body, block[max(0, l.top-tops[i]):]...)
	}
	return body
}

// scroll moves the top of the list so that the lines of the selected item are on the screen, as far
// as they fit.
func (l *list) scroll(from, to, lines, height int) {
	if !l.chosen {
		l.top = 0
		return
	}
	l.top = max(l.top, to-height)
	l.top = min(l.top, from)
	l.top = max(0, min(l.top, lines-height))
}

func (r *Run) emptyText() string {
	switch {
	case r.total == 0:
		return "there are no objects"
	case r.list.filter != "":
		return "no object has " + r.list.filter + " in its name"
	default:
		return "nothing has failed, and nothing is waited for"
	}
}

// sectionLine returns the title of a section.
func (r *Run) sectionLine(forms [sections]sectionForm, s section, shown int) fullscreen.Line {
	mark, text := "▾", fmt.Sprintf("%s (%d)", forms[s].title, shown)
	if r.options.ASCII {
		mark = "-"
	}
	if r.list.folded[s] {
		mark = "▸"
		if r.options.ASCII {
			mark = "+"
		}
	}
	if shown != r.counts[s] {
		text = fmt.Sprintf("%s (%d of %d)", forms[s].title, shown, r.counts[s])
	}
	return fullscreen.Line{{Text: mark + " "}, {Text: text, Style: fullscreen.Bold}}
}

// Columns of the list.
const (
	prefixColumns = 4  // the selection, the indentation, the sign and a space
	timeColumns   = 7  // the longest is 99h59m, after a space
	wideColumns   = 48 // a narrower screen has names and times only
	smallColumns  = 30 // a narrower screen has names only
)

// nameColumns returns the width of the names: that of the longest, but at most half the screen.
func (r *Run) nameColumns(columns int) int {
	switch {
	case columns < smallColumns:
		return columns - prefixColumns
	case columns < wideColumns:
		return min(r.longest, columns-prefixColumns-timeColumns)
	default:
		return min(r.longest, columns/2-prefixColumns)
	}
}

// objectLine returns the line of one object: its name, how long it is on its way, and why.
func (r *Run) objectLine(
	forms [sections]sectionForm, i, columns, names int,
) fullscreen.Line {
	w := &r.rows[i]
	line := fullscreen.Line{
		{Text: " "}, forms[w.section].mark(r.options.ASCII),
		{Text: " " + pad(shorten(w.name, names, r.options.ASCII), names)},
	}
	if columns < smallColumns {
		return line
	}
	took := ""
	switch w.section {
	case waiting, writing:
		took = clock(r.options.Now().Sub(w.began))
	case failed, done:
		if w.took >= time.Second {
			took = clock(w.took)
		}
	}
	line = append(line, fullscreen.Span{Text: fmt.Sprintf(" %*s", timeColumns-1, took)})
	if columns < wideColumns {
		return line
	}
	room := columns - prefixColumns - names - timeColumns - 2
	text := plaintext.Line(r.headline(i))
	return append(line, fullscreen.Span{Text: "  " + r.ellipsis(text, room)})
}

// detailIndent indents the details of an object.
const detailIndent = "     "

// details returns the lines below an object: its source, all of its status, and the causes with the
// ends of logs.
func (r *Run) details(i, columns int) []fullscreen.Line {
	w, step := &r.rows[i], &r.state.Plan.Steps[i]
	var texts []string
	add := func(text string) {
		for line := range strings.Lines(plaintext.Printable(text)) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")
			texts = append(texts, wrap(line, max(10, columns-len(detailIndent)))...)
		}
	}
	if step.Source != "" {
		add("from " + step.Source)
	}
	if w.section == pending {
		add(r.blockers(i))
	}
	if w.reason != "" {
		add(w.reason)
	}
	if w.status.State != "" {
		add(strings.TrimSuffix(string(w.status.State)+": "+w.status.Message, ": "))
	}
	for _, c := range w.causes {
		e := event.Event{Ref: step.Ref, Status: w.status, Causes: []ready.Cause{c}}
		for _, line := range view.Causes(e) {
			add(strings.TrimPrefix(line, "    "))
		}
	}
	if len(texts) == 0 {
		texts = []string{"nothing is known about it yet"}
	}
	lines := make([]fullscreen.Line, len(texts))
	for n, text := range texts {
		lines[n] = fullscreen.Line{{Text: detailIndent + text}}
	}
	return lines
}
