package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// Omit reports whether an object is to be ignored, valid or not. It gets the object before any
// check, for a list each item, and must not change it. A nil Omit ignores nothing.
type Omit func(obj map[string]any) bool

// Options are options of reading.
type Options struct {
	Omit Omit
	// Unnamed reports whether an object needs no metadata.name. It gets the object as Omit does. Nil
	// means that all objects need one.
	Unnamed func(obj map[string]any) bool
	Warn    func(text string) // receives warnings; nil ignores them
	// YAML11 reads what Helm and kubectl have read: an unquoted yes, no, on, off, y or n is a boolean,
	// and the last of equal keys counts.
	YAML11 bool
	// Foreign says what becomes of objects that are meant for other tools.
	Foreign Foreign
	// KeepServerMetadata keeps metadata that only the server writes, as kpt live does; else it is
	// left out, with warnings.
	KeepServerMetadata bool
	// Budget limits the memory of the objects of all texts of a source together. Nil means that the
	// text is the source.
	Budget *yamlsize.Budget
	// Built are the files that the documents of the output of a build come from, in their order; an
	// empty path is not known. Nil means that the text is no output of a build. The name is then that
	// of the kustomization.
	Built []string
}

// builtFrom returns the file that a document of the output of a build comes from, empty if it is
// not known, or the kustomization itself.
func (o Options) builtFrom(number int, name string) string {
	if number > len(o.Built) || o.Built[number-1] == name {
		return ""
	}
	return o.Built[number-1]
}

// Foreign is what becomes of objects that are meant for other tools, as package foreign finds them.
type Foreign int

const (
	// RefuseForeign makes them errors, and warnings if muster can deploy them all the same.
	RefuseForeign Foreign = iota
	// WarnForeign makes them warnings.
	WarnForeign
	// KeepForeign does not look for them: the objects are not deployed.
	KeepForeign
)

// Read parses one stream of documents, until the context ends. name stands for it in origins and
// errors. The error joins the problems of all documents, in order; Read then returns no objects.
func Read(ctx context.Context, r io.Reader, name string, o Options) ([]Object, error) {
	text, err := boundedio.ReadStream(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return Parse(ctx, text, name, o)
}

// Parse parses a text as Read does. If the context ends, the error is its cause. Parse may modify
// the text. If the name ends in .json, the text has to be JSON; it has no objects if none of its
// values has an apiVersion and a kind.
func Parse(ctx context.Context, text []byte, name string, o Options) ([]Object, error) {
	if encoding := otherEncoding(text); encoding != "" {
		return nil, fmt.Errorf("%s: line 1: the text is %s; save it as UTF-8", name, encoding)
	}
	if path.Ext(name) == jsonExtension && len(bytes.Trim(text, "\uFEFF \t\r\n")) == 0 {
		return nil, fmt.Errorf("%s: line 1: the file is empty; write its object, or %s", name, leaveOut)
	}
	if o.Budget == nil {
		o.Budget = &yamlsize.Budget{}
	}
	o.Budget.AddText(len(text))
	found := documents(ctx, text, name, o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return assemble(name, found, o)
}

// otherEncoding returns the encoding of a text by its byte order mark, empty for UTF-8.
func otherEncoding(text []byte) string {
	for _, mark := range []struct{ bytes, encoding string }{
		{"\xFF\xFE\x00\x00", "UTF-32"}, {"\x00\x00\xFE\xFF", "UTF-32"},
		{"\xFF\xFE", "UTF-16"}, {"\xFE\xFF", "UTF-16"},
	} {
		if bytes.HasPrefix(text, []byte(mark.bytes)) {
			return mark.encoding
		}
	}
	return ""
}

// documents parses all documents of a stream that have content or errors, until the context ends.
// With an error it returns no objects.
func documents(ctx context.Context, stream []byte, name string, o Options) []*document {
	all := kept{budget: o.Budget, before: *o.Budget}
	shared := &expansion{budget: o.Budget, exceeded: o.Budget.Exceeded()} // which was reported
	number := 0
	isFile := path.Ext(name) == jsonExtension
	for _, c := range split(stream) {
		if shared.exceeded || ctx.Err() != nil {
			break
		}
		if content, line := c.content(); len(content) > 0 && (isFile || isJSON(content)) {
			number++
			d := &document{number: number, start: c.start, options: o, expansion: shared}
			if d.readJSON(content, line, isFile) {
				all.add(d)
			}
			continue
		}
		if c.long > 0 {
			number++
			d := &document{number: number, start: c.start, line: c.start + c.long}
			d.failAt(c.long, "the line has more than %d bytes, and no object is so large; shorten it",
				maxLine)
			all.add(d)
			continue
		}
		if tooMany := (*yamlsize.TooManyError)(nil); errors.As(yamlsize.Check(c.text), &tooMany) {
			number++
			d := &document{number: number, start: c.start, line: c.start + tooMany.Line}
			d.failAt(tooMany.Line, "%s", tooMany)
			all.add(d)
			continue
		}
		for parser := yaml.NewDecoder(bytes.NewReader(c.text)); ; {
			var node yaml.Node
			err := parser.Decode(&node)
			if err == io.EOF {
				break
			}
			number++
			d := &document{number: number, start: c.start, options: o, expansion: shared}
			if d.read(&node, err, c.text) {
				all.add(d)
			}
			if err != nil {
				break
			}
		}
	}
	return all.documents
}

// kept are the documents of a stream that have objects, or something to print.
type kept struct {
	documents []*document
	problems  int
	budget    *yamlsize.Budget
	before    yamlsize.Budget // the budget without the objects of the stream
}

// add adds a document. After a problem it keeps only what is printed: many documents may have one.
func (k *kept) add(d *document) {
	first := k.problems == 0
	k.problems += len(d.problems)
	if k.problems == 0 {
		k.documents = append(k.documents, d)
		return
	}
	if first {
		for _, former := range k.documents {
			former.objects = nil
		}
	}
	if d.objects = nil; !k.budget.Exceeded() {
		*k.budget = k.before
	}
	enough := len(d.problems) == 0 || k.problems-len(d.problems) >= maxProblems
	if enough && len(k.documents) > 1 {
		k.documents[len(k.documents)-1].omitted += len(d.problems) + d.omitted
		return
	}
	k.documents = append(k.documents, d)
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
	if value := d.value(root); !d.expansion.exceeded {
		d.objects = d.unwrap(value, root)
	}
	return true
}

// assemble returns the objects of the documents of one stream, or their problems.
func assemble(name string, documents []*document, o Options) ([]Object, error) {
	var objects []Object
	var errs, warnings messages
	text, builder := name, ""
	if o.Built != nil {
		text, builder = name+builtSuffix, name
	}
	for _, d := range documents {
		origin := Origin{Path: name, Document: d.number, Line: d.line, Builder: builder}
		where := fmt.Sprintf("%s: document %d, line", text, d.number)
		if len(documents) == 1 {
			origin.Document = 0
			where = text + ": line"
		}
		from := o.builtFrom(d.number, name)
		if from != "" {
			origin.Path, from = from, ", from "+from
		}
		errs.add(where, from, d.problems)
		errs.omitted += d.omitted
		warnings.add(where, from, d.warnings)
		for _, obj := range d.objects {
			objects = append(objects, Object{&unstructured.Unstructured{Object: obj}, origin})
		}
	}
	if len(errs.texts) > 0 {
		return nil, errs.join(text, "problem")
	}
	if len(warnings.texts) > 0 && o.Warn != nil {
		o.Warn(warnings.join(text, "warning").Error())
	}
	return objects, nil
}
