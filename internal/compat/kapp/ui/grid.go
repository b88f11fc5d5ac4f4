package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// text formats the table. A plain table has no titles and separates columns by tabs.
func (t Table) text(plain, coloured bool) string {
	g := grid{border: "  ", coloured: coloured}
	if plain {
		g.border = "\t"
	}
	var b strings.Builder
	if !plain && t.Title != "" {
		b.WriteString(t.Title + "\n\n")
	}
	t.fill(&g, plain)
	g.write(&b)
	if plain {
		return b.String()
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n" + strings.Join(t.Notes, "\n") + "\n")
	}
	if strings.TrimSpace(t.Content) != "" {
		fmt.Fprintf(&b, "\n%d %s\n", len(t.Rows), t.Content)
	}
	return b.String()
}

// fill adds the header and the rows to the grid.
func (t Table) fill(g *grid, plain bool) {
	titles := make([]Cell, len(t.Header))
	var shown []int
	for i, column := range t.Header {
		titles[i] = Cell{Text: column.Title, Style: Bold}
		if !column.Hidden {
			shown = append(shown, i)
		}
	}
	if !plain && !t.Transpose {
		g.add(pick(titles, shown))
	}
	above, first := "", true
	for i, row := range t.sortedRows() {
		cells := pick(row, shown)
		if !t.FillFirst && !plain && len(row) > 0 {
			repeated := !first && row[0].String() == above
			above, first = row[0].String(), false
			if repeated && len(shown) > 0 && shown[0] == 0 {
				cells[0] = Cell{Text: "^"}
			}
		}
		switch {
		case !t.Transpose:
			g.add(cells)
		case i > 0:
			g.add(nil)
			fallthrough
		default:
			for j, cell := range cells {
				if plain {
					g.add([]Cell{cell})
				} else {
					g.add([]Cell{titles[shown[j]], cell})
				}
			}
		}
	}
}

// pick returns the cells of some columns of a row. It replaces empty cells with "-".
func pick(row []Cell, columns []int) []Cell {
	cells := make([]Cell, len(columns))
	for i, column := range columns {
		cells[i] = row[column]
		if cells[i].Text == "" && cells[i].Faint == "" {
			cells[i].Text = "-"
		}
	}
	return cells
}

// grid is a list of lines of cells. A column is as wide as its widest cell, except for the last
// one. Every cell ends with the border.
type grid struct {
	border   string
	coloured bool
	lines    [][]Cell // nil for an empty line
	widths   []int    // in runes
}

// add adds a row of one or more lines, and may change the row.
func (g *grid) add(row []Cell) {
	for len(g.widths) < len(row) {
		g.widths = append(g.widths, 0)
	}
	for line, more := row, true; more; {
		line, row, more = row, nil, false
		for i := range line {
			text, rest, broken := strings.Cut(strings.ReplaceAll(line[i].Text, "\r", ""), "\n")
			if broken && row == nil {
				row, more = make([]Cell, len(line)), true
			}
			if broken {
				row[i] = Cell{Text: rest, Style: line[i].Style}
			}
			line[i].Text = plaintext.Printable(text)
			g.widths[i] = max(g.widths[i], line[i].width())
		}
		g.lines = append(g.lines, line)
	}
}

func (c Cell) width() int { return utf8.RuneCountInString(c.Faint + c.Text) }

func (g *grid) write(b *strings.Builder) {
	for _, line := range g.lines {
		for i, cell := range line {
			style, margin := cell.Style, Faint
			if !g.coloured {
				style, margin = None, None
			}
			if cell.Faint != "" {
				b.WriteString(margin.paint(cell.Faint))
			}
			if cell.Text != "" {
				b.WriteString(style.paint(cell.Text))
			}
			if i < len(line)-1 {
				for range g.widths[i] - cell.width() {
					b.WriteByte(' ')
				}
			}
			b.WriteString(g.border)
		}
		b.WriteByte('\n')
	}
}
