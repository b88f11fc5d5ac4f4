package ui

import (
	"encoding/json"
	"strings"
)

// document is the output of --json. Empty slices are null.
type document struct {
	Tables []jsonTable
	Blocks []string
	Lines  []string
}

// jsonTable is a table in the document. Keys of columns identify titles and cells.
type jsonTable struct {
	Content string
	Header  map[string]string
	Rows    []map[string]string
	Notes   []string
}

// encode returns the document without a newline at its end, or nothing for an empty document.
func (d document) encode() string {
	if d.Tables == nil && d.Blocks == nil && d.Lines == nil {
		return ""
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "    ")
	if err := encoder.Encode(d); err != nil {
		return err.Error() // cannot happen: strings, slices and maps can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
