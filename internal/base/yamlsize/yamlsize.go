// Package yamlsize limits the memory that YAML and JSON of others may take.
//
// Check looks at a text before a library parses it: the libraries hold all values of a document at
// once, and make two hundred bytes of a value that has two. A Budget counts the objects that are
// kept of all texts of a source. Whatever reads YAML or JSON that others write uses both.
package yamlsize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
)

// MaxValues limits the values of one document: keys, texts, numbers, lists and maps.
const MaxValues = 500_000

// TooManyError reports a document with more than MaxValues values.
type TooManyError struct {
	Line int // on which the limit is exceeded, counted from 1 in the text
}

// Error returns a text without the line.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("it has more than %d values (keys, texts, numbers, lists and maps), the limit "+
		"of one document; divide its objects with ---", MaxValues)
}

// Check returns a *TooManyError for a text of YAML or JSON that has more than MaxValues values. It
// takes the text for one document, and ignores what is wrong with it otherwise. Aliases count as
// one value each.
func Check(text []byte) error {
	if len(text) < MaxValues/2 {
		return nil // a byte is at most two values
	}
	if _, line := count(utf8Of(text), MaxValues); line > 0 {
		return &TooManyError{line}
	}
	return nil
}

// utf8Of returns a text that begins with the byte order mark of UTF-16 in UTF-8: the libraries read
// it, too.
func utf8Of(text []byte) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	case !bytes.HasPrefix(text, []byte{0xFF, 0xFE}):
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for ; len(text) > 1; text = text[2:] {
		units = append(units, order.Uint16(text))
	}
	return []byte(string(utf16.Decode(units)))
}
