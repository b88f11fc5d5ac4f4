package ui

import (
	"encoding/json"
	"strings"
)

// document is what --json prints. Slices that were never added to are null in it.
type document struct {
	Tables []jsonTable
	Blocks []string
	Lines  []string
}

// jsonTable is a table in the document: titles by keys, and rows by keys.
type jsonTable struct {
	Content string
	Header  map[string]string
	Rows    []map[string]string
	Notes   []string
}

// text is the document, without a newline at its end; nothing if nothing was printed.
func (d document) text() string {
	if d.Tables == nil && d.Blocks == nil && d.Lines == nil {
		return ""
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "    ")
	if err := encoder.Encode(d); err != nil {
		return err.Error() // never so: strings in slices and maps can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
