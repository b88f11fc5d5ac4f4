package view

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// TableRow is one object of a table, with the state of its step if it is part of a run.
type TableRow struct {
	Ref        object.Ref
	Status     ready.Status // zero until the object was read
	Facts      *ready.Facts // nil until the object was read, and once it is deleted
	Step       *plan.Step   // nil for an object that belongs to no run
	Acted      *event.Event // nil until the write ended
	Waiting    bool         // written and not ready yet
	Settled    *event.Event // nil until the step ended
	Reason     string       // why its write failed or was skipped
	Owner      object.Ref   // the object itself, or the object of the table that it is a child of
	Parent     object.Ref   // of a child object: the object that it was created for
	TreePrefix string       // before the name of a child object
}

// Span is a text in one colour.
type Span struct {
	Text   string
	Colour Colour
}

// Colour is an escape sequence; empty is the default colour.
type Colour string

// The paints.
const (
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Red    Colour = "\x1b[31m"

	unpainted = "\x1b[0m"
)

// Column is a column of a table. Width limits its cells, in characters; 0 is the width of the
// widest cell.
type Column struct {
	Title string
	Width int
	Cell  func(TableRow) []Span
}

// TableOptions describe a table.
type TableOptions struct {
	Columns []Column
	Show    func(TableRow) bool                // nil shows all
	Run     *RunState                          // nil for a table without a run
	Reason  func(*RunState, PhaseEvent) string // why a write failed or was skipped
	// Children returns child objects; it is called at the end. Nil stands for none.
	Children func([]object.Ref) map[object.Ref][]TableRow
	// Details returns text below the table for a truncated row. Nil stands for none.
	Details func(TableRow) string
	Footer  string // printed below the table at the end
}

// Table returns a printer of objects as a table. It redraws the table at every event if the
// terminal holds all of it, else it prints the table once, at the end.
func Table(out io.Writer, terminal Terminal, members []TableRow, form TableOptions) Printer {
	t := &table{
		screen:  screen{out: out, terminal: terminal},
		members: slices.Clone(members),
		index:   map[object.Ref]int{},
		form:    form,
	}
	slices.SortFunc(t.members, func(a, b TableRow) int { return byNamespace(a.Ref, b.Ref) })
	for i, m := range t.members {
		t.index[m.Ref] = i
	}
	if len(t.members) > 0 && terminal.Live {
		t.draw(t.text())
	}
	return t
}

// PlanRows returns the rows of the objects of a plan.
func PlanRows(p *plan.Plan) []TableRow {
	var members []TableRow
	for i := range p.Steps {
		if step := &p.Steps[i]; step.Op.IsObject() {
			members = append(members, TableRow{Ref: step.Ref, Step: step})
		}
	}
	return members
}

type table struct {
	screen
	members   []TableRow
	index     map[object.Ref]int
	made      map[object.Ref][]TableRow
	truncated map[object.Ref]bool // objects with a truncated row in the latest text
	form      TableOptions
}

// Event applies one event.
func (t *table) Event(e event.Event) {
	i, ok := t.index[e.Ref]
	if !ok || e.Kind == event.Explained || e.Kind == event.Observed && e.Err != nil {
		return
	}
	if t.form.Run != nil {
		t.form.Run.Add(e)
	}
	m := &t.members[i]
	switch e.Kind {
	case event.Acted:
		m.Acted, m.Reason = &e, t.form.Reason(t.form.Run, PhaseEvent{Mark: Acted, Event: e})
	case event.Settled:
		m.Settled = &e
	case event.Waiting:
		m.Waiting, m.Settled = true, nil
	}
	if e.Status.State != "" {
		m.Status, m.Facts = e.Status, e.Facts
	}
	if t.terminal.Live {
		t.draw(t.text())
	}
}

// Close prints the table for the last time.
func (t *table) Close(error) error {
	if t.form.Children != nil {
		refs := make([]object.Ref, len(t.members))
		for i, m := range t.members {
			refs[i] = m.Ref
		}
		t.made = t.form.Children(refs)
	}
	text := t.text()
	t.draw(text + t.below() + t.form.Footer)
	t.finish()
	return wrapWrite(t.err)
}

// below returns the details of truncated rows.
func (t *table) below() string {
	var b strings.Builder
	for _, m := range t.members {
		if t.form.Details != nil && t.truncated[m.Ref] {
			if text := t.form.Details(m); text != "" {
				b.WriteString(plaintext.Message(text) + "\n")
			}
		}
	}
	return b.String()
}

// text returns the table as lines.
func (t *table) text() string {
	t.measure()
	var rows [][][]Span
	owners := []object.Ref{{}} // of the rows; the first are the titles
	t.truncated = map[object.Ref]bool{}
	titles := make([][]Span, len(t.form.Columns))
	for c, column := range t.form.Columns {
		titles[c] = []Span{{Text: column.Title}}
	}
	rows = append(rows, titles)
	for _, m := range t.members {
		for _, member := range append([]TableRow{m}, t.made[m.Ref]...) {
			member.Owner = m.Ref
			if t.form.Show == nil || t.form.Show(m) {
				rows, owners = append(rows, t.cells(member)), append(owners, m.Ref)
			}
		}
	}
	widths := t.widths(rows)
	var b strings.Builder
	for r, row := range rows {
		var line []Span
		for c, cell := range row {
			if c > 0 {
				line = append(line, Span{Text: "  "})
			}
			if c == len(row)-1 && t.form.Columns[c].Width == 0 {
				line = append(line, cell...)
			} else {
				line = append(line, fitSpans(cell, widths[c])...)
			}
		}
		if t.terminal.Width > 0 && spanLength(line) > t.terminal.Width {
			line = t.terminal.fitLine(line)
			t.truncated[owners[r]] = true
		}
		text := t.terminal.colourSpans(line)
		if t.form.Columns[len(t.form.Columns)-1].Width == 0 {
			text = strings.TrimRight(text, " ")
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (t *table) cells(m TableRow) [][]Span {
	cells := make([][]Span, len(t.form.Columns))
	for c, column := range t.form.Columns {
		for _, span := range column.Cell(m) {
			line := firstLine(span.Text)
			t.truncated[m.Owner] = t.truncated[m.Owner] || line != span.Text
			if line = plaintext.Printable(line); column.Width == 0 {
				line = plaintext.Text(line)
			}
			cells[c] = append(cells[c], Span{Text: line, Colour: span.Colour})
		}
	}
	return cells
}

func (t *table) widths(rows [][][]Span) []int {
	widths := make([]int, len(t.form.Columns))
	for c, column := range t.form.Columns {
		widths[c] = column.Width
		for _, row := range rows {
			if column.Width == 0 {
				widths[c] = max(widths[c], spanLength(row[c]))
			}
		}
	}
	return widths
}

func spanLength(spans []Span) int {
	n := 0
	for _, span := range spans {
		n += utf8.RuneCountInString(span.Text)
	}
	return n
}

// fitSpans cuts or pads a text to a width.
func fitSpans(spans []Span, width int) []Span {
	spans = cutSpans(spans, width)
	return append(spans, Span{Text: strings.Repeat(" ", width-spanLength(spans))})
}

// cutSpans cuts a text to a width.
func cutSpans(spans []Span, width int) []Span {
	kept := make([]Span, 0, len(spans))
	for _, span := range spans {
		runes := []rune(span.Text)
		runes = runes[:min(len(runes), width)]
		width -= len(runes)
		if len(runes) > 0 {
			kept = append(kept, Span{Text: string(runes), Colour: span.Colour})
		}
	}
	return kept
}

// colourSpans returns a text with its colours if the terminal has any.
func (t Terminal) colourSpans(spans []Span) string {
	var b strings.Builder
	for _, span := range spans {
		if t.Colour && span.Colour != "" {
			b.WriteString(string(span.Colour) + span.Text + unpainted)
		} else {
			b.WriteString(span.Text)
		}
	}
	return b.String()
}

// ColourOf returns the colour of a state.
func ColourOf(state ready.State) Colour {
	switch state {
	case ready.Current:
		return Green
	case ready.InProgress, ready.Terminating:
		return Yellow
	case ready.Failed:
		return Red
	default:
		return ""
	}
}
