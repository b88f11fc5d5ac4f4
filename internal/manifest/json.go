package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// numberNode is the kind of a node that holds a JSON number.
const numberNode yaml.Kind = 1 << 31

// isJSON reports whether a text is a JSON object or array. Other texts are read as YAML.
func isJSON(text []byte) bool {
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text) && utf8.Valid(text)
}

// readJSON parses the text of a document, which starts on the given line, as an object or a list of
// objects. It reports whether the document has content or an error. In a JSON file, values without
// apiVersion and kind have no content: they are for other programs.
func (d *document) readJSON(text []byte, line int, isFile bool) bool {
	if err := checkJSON(text); err != nil {
		offset := len(text)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			offset = max(0, int(syntax.Offset)-1)
		}
		line += bytes.Count(bytes.TrimRight(text[:offset], "\n"), []byte("\n"))
		d.line = d.start + line
		message := strings.TrimPrefix(err.Error(), "json: ")
		d.failAt(line, "it is not valid JSON: %s; correct it, or %s", message, leaveOut)
		return true
	}
	if tooMany := (*yamlsize.TooManyError)(nil); errors.As(yamlsize.Check(text), &tooMany) {
		d.line = d.start + line - 1 + tooMany.Line
		d.failAt(line-1+tooMany.Line, "%s", tooMany)
		return true
	}
	p := &jsonParser{decoder: json.NewDecoder(bytes.NewReader(text)), text: text, line: line}
	p.decoder.UseNumber()
	root := p.node()
	items := []*yaml.Node{root}
	if root.Kind == yaml.SequenceNode {
		items = root.Content
	}
	if isFile && !hasObject(items) {
		return false
	}
	d.line = d.start + root.Line
	for _, item := range items {
		if value := d.value(item); !d.expansion.exceeded {
			d.objects = append(d.objects, d.unwrap(value, item)...)
		}
	}
	return true
}

// checkJSON returns the error of a text that is not JSON.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	var value json.RawMessage
	return json.Unmarshal(text, &value)
}

// hasObject reports whether one of the values has an apiVersion and a kind.
func hasObject(values []*yaml.Node) bool {
	for _, n := range values {
		if n.Kind == yaml.MappingNode && child(n, "apiVersion") != n && child(n, "kind") != n {
			return true
		}
	}
	return false
}

// jsonParser converts valid JSON to nodes, for their lines.
type jsonParser struct {
	decoder *json.Decoder
	text    []byte
	line    int   // of the last token
	counted int64 // bytes of the text up to the last token
}

// token returns the next token of the text.
func (p *jsonParser) token() json.Token {
	token, _ := p.decoder.Token() // valid JSON has no errors
	end := p.decoder.InputOffset()
	p.line += bytes.Count(p.text[p.counted:end], []byte("\n"))
	p.counted = end
	return token
}

// node returns the next value of the text.
func (p *jsonParser) node() *yaml.Node {
	token := p.token()
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: p.line}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for p.decoder.More() {
			n.Content = append(n.Content, p.node())
		}
		p.token()
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Kind, n.Value = numberNode, t.String()
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n
}

// jsonNumber returns a JSON number as int64 if it is a whole number of 64 bits, else as float64.
func (d *document) jsonNumber(n *yaml.Node) any {
	if whole, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		return whole
	}
	value, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || math.IsInf(value, 0) {
		d.failNumber(n)
	}
	return value
}
