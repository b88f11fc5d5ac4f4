package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Column is the header of a column: its key for documents and --column, and its title.
type Column struct {
	Key, Title string
	Hidden     bool // printed only if --column names it
}

// Columns returns columns with these titles. Key makes their keys.
func Columns(titles ...string) []Column {
	columns := make([]Column, 0, len(titles))
	for _, title := range titles {
		columns = append(columns, Column{Key: Key(title), Title: title})
	}
	return columns
}

// Key returns the key for a title: letters and numbers in lower case, with "_" in place of other
// characters. A title without letters and numbers has the key "_".
func Key(title string) string {
	words := strings.FieldsFunc(title,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if len(words) == 0 {
		return "_"
	}
	return strings.ToLower(strings.Join(words, "_"))
}

// Cell is a value of a table.
type Cell struct {
	Text  string // one or more lines; an empty text is printed as "-"
	Style Style  // of the text, not of the margin
	Faint string // a margin before the text
	Sort  string // sorts the row instead of Text
}

// Cells returns cells with these texts.
func Cells(texts ...string) []Cell {
	cells := make([]Cell, 0, len(texts))
	for _, text := range texts {
		cells = append(cells, Cell{Text: text})
	}
	return cells
}

// Namespace returns the cell for an object's namespace.
func Namespace(name string) Cell {
	if name == "" {
		name = "(cluster)"
	}
	return Cell{Text: name}
}

// Judged returns a cell in green, or in red if the text is bad news. An empty text has no style.
func Judged(text string, bad bool) Cell {
	cell := Cell{Text: text, Style: Green}
	switch {
	case text == "":
		cell.Style = None
	case bad:
		cell.Style = Red
	}
	return cell
}

func (c Cell) String() string { return c.Faint + c.Text }

func (c Cell) order() string {
	if c.Sort != "" {
		return c.Sort
	}
	return c.Text
}

// Sort is a column by which rows are sorted.
type Sort struct {
	Column int
	Desc   bool // from the last to the first
}

// SortBy returns ascending sorts by columns. Earlier columns take precedence.
func SortBy(columns ...int) []Sort {
	sorts := make([]Sort, 0, len(columns))
	for _, column := range columns {
		sorts = append(sorts, Sort{Column: column})
	}
	return sorts
}

// Table is a table. Printing does not change it.
type Table struct {
	Title     string // the line above
	Content   string // the noun for the line that counts the rows; no line if empty
	Header    []Column
	Rows      [][]Cell
	Notes     []string
	SortBy    []Sort // sorts the rows; the sort is stable
	FillFirst bool   // repeated values of the first column are printed, not replaced by "^"
	Transpose bool   // each cell has a line of its own, after the title of its column
}

// selectColumns returns the table with the columns of these keys.
func (t Table) selectColumns(keys []string) (Table, error) {
	if len(keys) == 0 {
		return t, nil
	}
	var known []string
	header := slices.Clone(t.Header)
	for i := range header {
		header[i].Hidden = true
		known = append(known, header[i].Key)
	}
	var missing []string
	for _, key := range keys {
		key = Key(key)
		if i := slices.Index(known, key); i >= 0 {
			header[i].Hidden = false
		} else {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return t, fmt.Errorf("failed to find following headers: %s (hint: --column takes %s)",
			strings.Join(missing, ", "), strings.Join(known, ", "))
	}
	t.Header = header
	return t, nil
}

// sortedRows returns the rows in order, with a cell for each column. The caller owns the outer
// slice.
func (t Table) sortedRows() [][]Cell {
	rows := make([][]Cell, 0, len(t.Rows))
	for _, row := range t.Rows {
		if len(row) != len(t.Header) {
			whole := make([]Cell, len(t.Header))
			copy(whole, row)
			row = whole
		}
		rows = append(rows, row)
	}
	if len(t.SortBy) == 0 {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b []Cell) int {
		for _, by := range t.SortBy {
			c := strings.Compare(a[by.Column].order(), b[by.Column].order())
			if by.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return rows
}

// encode returns the table for the document.
func (t Table) encode() jsonTable {
	keys := make([]string, len(t.Header))
	out := jsonTable{
		Content: t.Content,
		Header:  map[string]string{},
		Rows:    []map[string]string{},
		Notes:   t.Notes,
	}
	for i, column := range t.Header {
		keys[i] = column.Key
		if keys[i] == Key("") {
			keys[i] = strconv.Itoa(i)
		}
		if !column.Hidden {
			out.Header[keys[i]] = column.Title
		}
	}
	for _, row := range t.sortedRows() {
		cells := make(map[string]string, len(out.Header))
		for i, cell := range row {
			if !t.Header[i].Hidden {
				cells[keys[i]] = cell.String()
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
