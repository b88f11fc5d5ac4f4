// Package edit changes the content of a document in a YAML file, and keeps the text of all else:
// comments, order, quotes and layout.
//
// It compares the wanted content with the document, and replaces, removes and inserts only the
// texts of what differs. The result is read again, by the rules of package manifest: if it is not
// what is wanted, as with anchors, it is an error, and nothing was changed. It does no I/O.
package edit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/manifest"
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
		switch {
		case line == 0 && hasContent(text), line >= first && line < next,
			line == next && end == len(file):
			return number + 1
		}
		begin, first = end, next
	}
	return 0
}

// hasContent reports whether a document has content or cannot be read.
func hasContent(text []byte) bool {
	fields, err := decode(text)
	return err != nil || len(fields) > 0
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

// decode returns the content of a document as package manifest reads it; nil for none. The error is
// that it cannot be read, or is not one map.
func decode(text []byte) (map[string]any, error) {
	var found []map[string]any
	_, err := manifest.Parse(context.Background(), bytes.Clone(text), "the document", manifest.Options{
		Omit: func(fields map[string]any) bool {
			found = append(found, fields)
			return true
		},
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1:
		return nil, errors.New("it holds several objects: put --- between documents")
	case len(found) == 0:
		return nil, nil
	}
	return found[0], nil
}

// otherBreaks are characters that the YAML library counts as ends of lines, and editors do not. A
// CR is one unless an LF follows.
const otherBreaks = "\u0085\u2028\u2029"

// byteOrderMark may stand before a document.
const byteOrderMark = "\uFEFF"

// Rewrite returns the text of the file in which the document has another content.
func (d *Document) Rewrite(content map[string]any) ([]byte, error) {
	text := bytes.TrimPrefix(d.text, []byte(byteOrderMark))
	mark := d.text[:len(d.text)-len(text)]
	if bytes.ContainsAny(text, otherBreaks) ||
		bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")) {
		return nil, errLayout
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || root.Kind != yaml.DocumentNode {
		return nil, errLayout
	}
	if root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the document is no map")
	}
	e := &editor{text: text, lines: lineStarts(text), json: isJSON(text)}
	if !e.holds(&root) || !e.value(root.Content[0], content) {
		return nil, errLayout
	}
	if found := e.setterOf(e.edits); found.line > 0 {
		return nil, fmt.Errorf("a setter writes it again (line %d: %s): change the value that the "+
			"setter has", bytes.Count(d.before, []byte("\n"))+found.line, found.text)
	}
	after := e.apply()
	got, err := decode(after)
	if err != nil || !jsonvalue.Equal(got, content) || e.json && !isJSON(after) {
		return nil, errLayout
	}
	return slices.Concat(d.before, mark, after, d.after), nil
}

// isJSON reports whether the text of a document is JSON.
func isJSON(text []byte) bool { return json.Valid(bytes.TrimPrefix(text, []byte("---"))) }

// setter is a comment by which another program writes the value on its line: a setter of kpt, or
// the image automation of Flux.
var setter = regexp.MustCompile(`#\s*(kpt-set:|\{\s*"\$(kpt-set|openapi|imagepolicy)").*`)

// foundSetter is a setter on a line of the document, counted from 1; 0 for none.
type foundSetter struct {
	line int
	text []byte
}

// setterOf returns the setter of a line that changes, or of the key of a list or map around it.
func (e *editor) setterOf(edits []replacement) foundSetter {
	for _, r := range edits {
		for _, line := range r.keys {
			if found := e.setterAt(line, line); found.line > 0 {
				return found
			}
		}
		if r.from == r.to {
			continue
		}
		first := bytes.Count(e.text[:r.from], []byte("\n"))
		last := bytes.Count(e.text[:r.to-1], []byte("\n"))
		if found := e.setterAt(first+1, last+1); found.line > 0 {
			return found
		}
	}
	return foundSetter{}
}

// setterAt returns the first setter on some lines.
func (e *editor) setterAt(first, last int) foundSetter {
	for line := first; line <= last; line++ {
		if found := setter.Find(e.lineAt(line)); found != nil {
			return foundSetter{line, bytes.TrimSpace(found)}
		}
	}
	return foundSetter{}
}

// replacement is a new text for a part of the document.
type replacement struct {
	from, to int
	text     string
	keys     []int // lines of the keys that it is a part of, outermost first
}

// editor collects the replacements in a document.
type editor struct {
	text  []byte
	lines []int // where each line begins
	json  bool  // the document is JSON
	edits []replacement
	keys  []int // lines of the keys whose values are being changed, outermost first

	brackets bool // what is written is within brackets
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

// lineAt returns the text of a line, counted from 1, with its end.
func (e *editor) lineAt(line int) []byte {
	if line < len(e.lines) {
		return e.text[e.lines[line-1]:e.lines[line]]
	}
	return e.text[e.lines[line-1]:]
}

// holds reports whether the text has the places of a node and of those in it.
func (e *editor) holds(n *yaml.Node) bool {
	return n.Line <= len(e.lines) && n.Column-1 <= len(e.lineAt(max(n.Line, 1))) &&
		!slices.ContainsFunc(n.Content, func(inner *yaml.Node) bool { return !e.holds(inner) })
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
	e.edits = append(e.edits, replacement{from, to, text, slices.Clone(e.keys)})
}
