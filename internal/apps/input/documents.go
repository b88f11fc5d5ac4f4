package input

import (
	"bytes"
	"fmt"
	"io"
)

// documents takes a text apart as the YAML reader of Kubernetes does, without copying it.
type documents struct{ rest []byte }

// newDocuments begins with a text, whose lines end with a newline, also the last one, from then on.
func newDocuments(text []byte) *documents {
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return &documents{text}
}

// next gives the next document, or io.EOF. A marker ends the document before it; where there is none it is the first line of the one
// that follows.
func (d *documents) next() ([]byte, error) {
	marker := []byte("---")
	for at := 0; at < len(d.rest); {
		end := at + bytes.IndexByte(d.rest[at:], '\n') + 1
		if bytes.HasPrefix(d.rest[at:], marker) {
			if trimmed := bytes.TrimSpace(d.rest[at+len(marker) : end]); len(trimmed) > 0 && trimmed[0] != '#' {
				return nil, fmt.Errorf("invalid Yaml document separator: %s", trimmed)
			}
			if at > 0 {
				document := d.rest[:at]
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
