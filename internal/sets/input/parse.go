package input

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// parse parses the documents of a text, until the context ends. Documents count from 1, including
// those without content. Errors have kapp's text, followed by the origin.
func (s Source) parse(ctx context.Context, text []byte) ([]resource.Resource, error) {
	name, budget := s.Name, cmp.Or(s.budget, &yamlsize.Budget{})
	budget.AddText(len(text))
	text, err := utf8Text(text)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, name)
	}
	documents := newDocuments(text)
	var c *checker
	if s.warn != nil {
		c = &checker{print: s.warn}
		defer c.end(name)
	}
	var all []resource.Resource
	for number := 1; ; number++ {
		origin := fmt.Sprintf("%s doc %d", name, number)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		document, err := documents.next()
		if err == io.EOF {
			return all, nil
		}
		var objects []map[string]any
		if c != nil {
			c.origin, c.start = origin, documents.start
		}
		if err == nil {
			objects, err = readObjects(document, c, budget)
		}
		if err != nil {
			return nil, fmt.Errorf("%w (%s)", plaintext.HideYAML(err), origin)
		}
		for _, object := range objects {
			all = append(all, resource.Resource{Unstructured: &unstructured.Unstructured{Object: object},
				Origin: origin})
		}
	}
}

// readObjects returns the objects of a document: none, one, or the items of a list.
func readObjects(
	document []byte, c *checker, budget *yamlsize.Budget,
) ([]map[string]any, error) {
	if err := yamlsize.Check(document); err != nil {
		return nil, err
	}
	value, err := decode(document, c)
	if err != nil {
		return nil, fmt.Errorf("error converting YAML to JSON: %w", err)
	}
	if value == nil {
		return nil, nil
	}
	budget.Add(value)
	if err := budget.Err(); err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("error unmarshaling JSON: while decoding JSON: "+
			"json: cannot unmarshal %s into Go value of type map[string]interface {}", typeName(value))
	}
	if len(object) == 0 {
		return nil, nil
	}
	objects, err := expandList(nil, object)
	for range objects {
		budget.AddObject()
	}
	return objects, err
}

// expandList appends an object, or its items if it has items and no name, or is of kind List.
func expandList(to []map[string]any, object map[string]any) ([]map[string]any, error) {
	items, ok := object["items"].([]any)
	name, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "name")
	if !ok || name != nil && (object["apiVersion"] != "v1" || object["kind"] != "List") {
		return append(to, object), nil
	}
	for i, value := range items {
		item, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("Expected items of list to be objects, but item %d is of type %s", i+1,
				typeName(value))
		}
		var err error
		if to, err = expandList(to, item); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// typeName returns the name of a type in errors of encoding/json.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "bool"
	}
	return "number"
}

// utf8Text converts UTF-16 with a byte order mark to UTF-8.
func utf8Text(text []byte) ([]byte, error) {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(text, []byte{0, 0, 0xFE, 0xFF}),
		bytes.HasPrefix(text, []byte{0xFF, 0xFE, 0, 0}):
		return nil, errors.New("the text is UTF-32; save it as UTF-8")
	case bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	case !bytes.HasPrefix(text, []byte{0xFF, 0xFE}):
		return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
	}
	units := make([]uint16, 0, len(text)/2)
	for at := 2; at+1 < len(text); at += 2 {
		units = append(units, order.Uint16(text[at:]))
	}
	return []byte(string(utf16.Decode(units))), nil
}
