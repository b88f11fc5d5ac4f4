package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Omit reports whether an object is to be ignored, valid or not. It gets the object before any
// check, for a list each item, and must not change it. A nil Omit ignores nothing.
type Omit func(obj map[string]any) bool

// Read parses one stream of documents. name stands for it in origins and errors. The error joins
// the problems of all documents, in order; Read then returns no objects.
func Read(r io.Reader, name string, omit Omit) ([]Object, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return Parse(text, name, omit)
}

// Parse parses a text as Read does. It may modify the text.
func Parse(text []byte, name string, omit Omit) ([]Object, error) {
	if bytes.HasPrefix(text, []byte{0xFF, 0xFE}) || bytes.HasPrefix(text, []byte{0xFE, 0xFF}) {
		return nil, fmt.Errorf("%s: line 1: the text is UTF-16; save it as UTF-8", name)
	}
	text = unescape(bytes.TrimPrefix(text, []byte("\uFEFF")))
	return assemble(name, documents(text, omit))
}

// documents parses all documents of a stream that have content or errors.
func documents(stream []byte, omit Omit) []*document {
	var all []*document
	shared := &expansion{}
	number := 0
	for _, c := range split(stream) {
		for parser := yaml.NewDecoder(bytes.NewReader(c.text)); ; {
			var node yaml.Node
			err := parser.Decode(&node)
			if err == io.EOF {
				break
			}
			number++
			d := &document{number: number, start: c.start, omit: omit, expansion: shared}
			if d.read(&node, err, c.text) {
				all = append(all, d)
			}
			if err != nil {
				break
			}
		}
	}
	return all
}

// read handles a parsed document and reports whether it has content or an error.
func (d *document) read(node *yaml.Node, err error, text []byte) bool {
	if err != nil {
		line, message := syntaxError(err, text)
		d.line = d.start + line
		d.failAt(line, "%s", message)
		return true
	}
	root := node.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return false
	}
	d.line = d.start + root.Line
	d.objects = d.unwrap(d.value(root), root)
	return true
}

// assemble returns the objects of the documents of one stream, or their problems.
func assemble(name string, documents []*document) ([]Object, error) {
	var objects []Object
	var errs []error
	for _, d := range documents {
		origin := Origin{Path: name, Document: d.number, Line: d.line}
		where := fmt.Sprintf("%s: document %d, line", name, d.number)
		if len(documents) == 1 {
			origin.Document = 0
			where = name + ": line"
		}
		slices.SortStableFunc(d.problems, func(a, b problem) int { return a.line - b.line })
		for _, p := range d.problems {
			errs = append(errs, fmt.Errorf("%s %d: %s", where, p.line, p.message))
		}
		for _, obj := range d.objects {
			objects = append(objects, Object{&unstructured.Unstructured{Object: obj}, origin})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return objects, nil
}
