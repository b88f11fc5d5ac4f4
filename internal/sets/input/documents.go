package input

import (
	"bytes"
	"fmt"
	"io"
)

// documents splits a text like the YAML reader of Kubernetes, without copying it.
type documents struct {
	rest  []byte
	start int // lines before the document that next returned last
	line  int // lines before the rest
}

// newDocuments returns the documents of a text. Every line ends with a newline.
func newDocuments(text []byte) *documents {
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return &documents{rest: text}
}

// next returns the next document, or io.EOF. A separator ends the document before it. Without one
// it is the first line of the document.
func (d *documents) next() ([]byte, error) {
	marker := []byte("---")
	d.start = d.line
	for at := 0; at < len(d.rest); {
		end := at + bytes.IndexByte(d.rest[at:], '\n') + 1
		if bytes.HasPrefix(d.rest[at:], marker) {
			if trimmed := bytes.TrimSpace(d.rest[at+len(marker) : end]); len(trimmed) > 0 &&
				trimmed[0] != '#' {
				return nil, fmt.Errorf("invalid Yaml document separator: %s", trimmed)
			}
			if at > 0 {
				document := d.rest[:at]
				d.line += bytes.Count(d.rest[:end], []byte("\n"))
				d.rest = d.rest[end:]
				return document, nil
			}
		}
		at = end
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	document := d.rest
	d.rest = nil
	return document, nil
}
