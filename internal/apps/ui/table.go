package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Column is the head of a column: its key in documents and for --column, and its title on terminals.
type Column struct {
	Key, Title string
	Hidden     bool // shown only where --column names it
}

// Columns gives columns whose keys are made of their titles.
func Columns(titles ...string) []Column {
	columns := make([]Column, 0, len(titles))
	for _, title := range titles {
		columns = append(columns, Column{Key: Key(title), Title: title})
	}
	return columns
}

// Key makes a key of a title: letters and numbers in lower case, and "_" for what stands between them. A title without any has
// the key "_".
func Key(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if len(words) == 0 {
		return "_"
	}
	return strings.ToLower(strings.Join(words, "_"))
}

// Cell is a value of a table.
type Cell struct {
	Text  string // its lines are put below each other; nothing is shown as "-"
	Style Style  // of the text, not of the margin
	Faint string // a margin before the text
	Sort  string // what the row is sorted by, instead of Text
}

// Cells gives cells with texts alone.
func Cells(texts ...string) []Cell {
	cells := make([]Cell, 0, len(texts))
	for _, text := range texts {
		cells = append(cells, Cell{Text: text})
	}
	return cells
}

// Namespace is the cell of an object's namespace.
func Namespace(name string) Cell {
	if name == "" {
		name = "(cluster)"
	}
	return Cell{Text: name}
}

func (c Cell) String() string { return c.Faint + c.Text }

func (c Cell) order() string {
	if c.Sort != "" {
		return c.Sort
	}
	return c.Text
}

// Sort is a column that rows are sorted by.
type Sort struct {
	Column int
	Desc   bool // from the last to the first
}

// SortBy sorts by columns, from the first to the last, the earlier ones before the later ones.
func SortBy(columns ...int) []Sort {
	sorts := make([]Sort, 0, len(columns))
	for _, column := range columns {
		sorts = append(sorts, Sort{Column: column})
	}
	return sorts
}

// Table is what is shown as rows. Printing changes none of it.
type Table struct {
	Title     string   // the line above
	Content   string   // what the rows are, for the line below that counts them; none if empty
	Header    []Column // one for every cell of a row
	Rows      [][]Cell
	Notes     []string
	SortBy    []Sort // rows that are equal in all of them stay in their order
	FillFirst bool   // a value of the first column that repeats the one above is shown, not "^"
	Transpose bool   // every cell has a line of its own after the title of its column
}

// only gives the table with the columns of these keys alone.
func (t Table) only(keys []string) (Table, error) {
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

// sorted gives the rows in their order, each with as many cells as there are columns. The outer slice is the caller's own.
func (t Table) sorted() [][]Cell {
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

// json gives the table for the document.
func (t Table) json() jsonTable {
	keys := make([]string, len(t.Header))
	out := jsonTable{Content: t.Content, Header: map[string]string{}, Rows: []map[string]string{}, Notes: t.Notes}
	for i, column := range t.Header {
		keys[i] = column.Key
		if keys[i] == Key("") {
			keys[i] = strconv.Itoa(i)
		}
		if !column.Hidden {
			out.Header[keys[i]] = column.Title
		}
	}
	for _, row := range t.sorted() {
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
