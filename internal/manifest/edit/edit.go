// Package edit changes the content of a document in a YAML file, and keeps the text of all else:
// comments, order, quotes and layout.
//
// It compares the wanted content with the document, and replaces, removes and inserts only the
// texts of what differs. The result is read again: if it is not what is wanted, as with anchors, it
// is an error, and nothing was changed. It does no I/O.
package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	jsonyaml "sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// Document is a document of a YAML file.
type Document struct {
	Fields map[string]any // its content, as package unstructured holds objects

	before, text, after []byte // the file
}

// Number returns the number of the document of a file that has a line, both counted from 1; line 0
// means the only one with content. 0 means that there is none.
func Number(file []byte, line int) int {
	first, number := 1, 0
	for begin := 0; begin < len(file); number++ {
		end := endOfDocument(file, begin)
		text := file[begin:end]
		next := first + bytes.Count(text, []byte("\n"))
		switch fields, err := decode(text); {
		case line == 0 && (err != nil || len(fields) > 0), line >= first && line < next,
			line == next && end == len(file):
			return number + 1
		}
		begin, first = end, next
	}
	return 0
}

// Open returns a document of a file by its number, counted from 1.
func Open(file []byte, number int) (*Document, error) {
	for begin := 0; begin < len(file) && number > 0; number-- {
		end := endOfDocument(file, begin)
		if number == 1 {
			text := file[begin:end]
			fields, err := decode(text)
			return &Document{Fields: fields, before: file[:begin], text: text, after: file[end:]}, err
		}
		begin = end
	}
	return nil, errors.New("it has no such document any more")
}

// Text returns the text of the document.
func (d *Document) Text() []byte { return d.text }

// Hide returns a file in which each line of some documents is replaced. hides gets the number of
// each document, and its content or why that cannot be read.
func Hide(
	file []byte, line string, hides func(number int, fields map[string]any, err error) bool,
) []byte {
	var shown []byte
	for begin, number := 0, 1; begin < len(file); number++ {
		end := endOfDocument(file, begin)
		text := file[begin:end]
		fields, err := decode(text)
		if hides(number, fields, err) {
			text = bytes.Repeat([]byte(line+"\n"), len(bytes.SplitAfter(bytes.TrimSuffix(text,
				[]byte("\n")), []byte("\n"))))
		}
		shown = append(shown, text...)
		begin = end
	}
	return shown
}

// endOfDocument returns where the document that begins at a position ends: before the next marker.
func endOfDocument(file []byte, begin int) int {
	for pos := begin; ; {
		n := bytes.IndexByte(file[pos:], '\n')
		if n < 0 {
			return len(file)
		}
		pos += n + 1
		rest, ok := bytes.CutPrefix(file[pos:], []byte("---"))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return pos
		}
	}
}

// decode returns the content of a document.
func decode(text []byte) (map[string]any, error) {
	data, err := jsonyaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var content any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	fields, _ := content.(map[string]any)
	return fields, nil
}

// Rewrite returns the text of the file in which the document has another content.
func (d *Document) Rewrite(content map[string]any) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if root.Kind != yaml.DocumentNode || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the document is no map")
	}
	e := &editor{text: d.text, lines: lineStarts(d.text)}
	e.json = bytes.HasPrefix(bytes.TrimSpace(d.text), []byte("{"))
	if !e.value(root.Content[0], content) {
		return nil, errLayout
	}
	if err := d.checkSetters(e.edits); err != nil {
		return nil, err
	}
	text := e.apply()
	got, err := decode(text)
	if err != nil || !jsonvalue.Equal(got, content) {
		return nil, errLayout
	}
	return slices.Concat(d.before, text, d.after), nil
}

// setter is a comment by which another program writes the value on its line: a setter of kpt, or
// the image automation of Flux.
var setter = regexp.MustCompile(`#\s*(kpt-set:|\{\s*"\$(kpt-set|openapi|imagepolicy)").*`)

// checkSetters returns an error if a line that changes has a setter.
func (d *Document) checkSetters(edits []replacement) error {
	for _, r := range edits {
		if r.from == r.to {
			continue
		}
		begin := bytes.LastIndexByte(d.text[:r.from], '\n') + 1
		end := len(d.text)
		if n := bytes.IndexByte(d.text[r.to-1:], '\n'); n >= 0 {
			end = r.to - 1 + n
		}
		if found := setter.Find(d.text[begin:end]); found != nil {
			line := 1 + bytes.Count(d.before, []byte("\n")) + bytes.Count(d.text[:begin], []byte("\n"))
			return fmt.Errorf("a setter writes it again (line %d: %s): change the value that the setter "+
				"has", line, bytes.TrimSpace(found))
		}
	}
	return nil
}

// replacement is a new text for a part of the document.
type replacement struct {
	from, to int
	text     string
}

// editor collects the replacements in a document.
type editor struct {
	text  []byte
	lines []int // where each line begins
	json  bool  // the document is JSON
	edits []replacement
}

// errLayout reports a document that has to be changed by hand.
var errLayout = errors.New("the layout of the file, such as anchors or several keys on a line, " +
	"does not allow it: change the file yourself")

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// apply returns the text with all replacements.
func (e *editor) apply() []byte {
	slices.Reverse(e.edits) // of those at one place, the last one is made first, after removals
	slices.SortStableFunc(e.edits, func(a, b replacement) int {
		return cmp.Or(b.from-a.from, b.to-a.to)
	})
	text := slices.Clone(e.text)
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	for _, r := range e.edits {
		added := []byte(strings.ReplaceAll(r.text, "\n", newline))
		text = slices.Concat(text[:r.from], added, text[r.to:])
	}
	return text
}

func (e *editor) add(from, to int, text string) {
	e.edits = append(e.edits, replacement{from, to, text})
}
