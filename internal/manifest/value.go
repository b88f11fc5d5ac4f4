package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// maxExpanded and maxExpandedBytes limit the values that the aliases of one stream expand to, and
// their texts. Without limits, a few lines of aliases to aliases exhaust the memory.
const (
	maxExpanded      = 500_000
	maxExpandedBytes = 16 << 20
)

// expansion counts the values that the aliases of a stream expand to.
type expansion struct {
	values int
	bytes  int          // of the texts of keys and values
	excess string       // the problem of a stream that exceeds a limit
	open   []*yaml.Node // anchored nodes that are being expanded, outermost first

	budget   *yamlsize.Budget
	exceeded bool // the budget is, which was reported
	keys     map[string]string
}

// maxKeys limits the keys of which a stream keeps one copy.
const maxKeys = 10_000

// keyOf returns the copy of a key that all objects of the stream share.
func (e *expansion) keyOf(key string) string {
	shared, ok := e.keys[key]
	switch {
	case ok:
		return shared
	case e.keys == nil:
		e.keys = map[string]string{}
	case len(e.keys) == maxKeys:
		return key
	}
	e.keys[key] = key
	return key
}

// Value returns the value of a node of the YAML library as Parse reads it, with the types of
// package unstructured. The error is the first problem.
func Value(n *yaml.Node) (any, error) {
	d := &document{expansion: &expansion{budget: &yamlsize.Budget{}}}
	value := d.value(n)
	if len(d.problems) > 0 {
		return nil, errors.New(d.problems[0].message)
	}
	return value, nil
}

// value decodes a node into the types of package unstructured, and reports problems. The YAML
// library would look for duplicate keys in quadratic time, decode timestamps as times, and not give
// the lines of values.
func (d *document) value(n *yaml.Node) any {
	if !d.countExpanded(n) || !d.countMemory(n) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.alias(n)
	case yaml.MappingNode:
		d.wantTag(n, "!!map")
		return d.mapping(n)
	case yaml.SequenceNode:
		d.wantTag(n, "!!seq")
		return d.sequence(n)
	case numberNode:
		return d.jsonNumber(n)
	default:
		return d.scalar(n)
	}
}

// countExpanded counts a value below an alias, and reports whether it may be expanded. It reports
// the first that may not.
func (d *document) countExpanded(n *yaml.Node) bool {
	e := d.expansion
	if len(e.open) == 0 {
		return true
	}
	limit := ""
	switch {
	case e.excess != "":
		return false
	case e.values == maxExpanded:
		limit = fmt.Sprintf("%d values", maxExpanded)
	case len(n.Value) > maxExpandedBytes-e.bytes:
		limit = fmt.Sprintf("%d bytes", maxExpandedBytes)
	default:
		e.values++
		e.bytes += len(n.Value)
		return true
	}
	e.excess = "the aliases of the file stand for more than " + limit + "; write some of them out"
	d.failAt(n.Line, "%s", e.excess)
	return false
}

// countMemory counts the memory of a value, without those in it, and reports whether it may be
// kept. It reports the first that may not.
func (d *document) countMemory(n *yaml.Node) bool {
	e := d.expansion
	if e.exceeded {
		return false
	}
	if n.Kind == yaml.MappingNode {
		e.budget.AddMap(len(n.Content) / 2)
		for i := 0; i < len(n.Content); i += 2 {
			e.budget.AddScalar(len(n.Content[i].Value))
		}
	} else {
		e.budget.AddScalar(len(n.Value))
	}
	if err := e.budget.Err(); err != nil {
		e.exceeded = true
		d.failAt(n.Line, "%s", err)
	}
	return !e.exceeded
}

// CheckAliases returns an error if a text has more values than one document may have, or if its
// aliases stand for more than Parse expands. It ignores what is wrong otherwise.
func CheckAliases(text []byte) error {
	if err := yamlsize.Check(text); err != nil {
		return err
	}
	if !bytes.Contains(text, []byte("*")) {
		return nil
	}
	d := &document{expansion: &expansion{budget: &yamlsize.Budget{}}}
	d.expansion.budget.AddText(len(text))
	for parser := yaml.NewDecoder(bytes.NewReader(text)); d.expansion.excess == "" &&
		!d.expansion.exceeded; {
		var node yaml.Node
		if err := parser.Decode(&node); err != nil {
			return nil
		}
		d.value(node.Content[0])
	}
	if d.expansion.exceeded {
		return d.expansion.budget.Err()
	}
	return errors.New(d.expansion.excess)
}

func (d *document) alias(n *yaml.Node) any {
	for _, open := range d.expansion.open {
		if open == n.Alias {
			d.failAt(n.Line, "anchor %q contains itself", n.Value)
			return nil
		}
	}
	d.expansion.open = append(d.expansion.open, n.Alias)
	value := d.value(n.Alias)
	d.expansion.open = d.expansion.open[:len(d.expansion.open)-1]
	return value
}

func (d *document) sequence(n *yaml.Node) any {
	list := make([]any, 0, len(n.Content))
	for _, element := range n.Content {
		list = append(list, d.value(element))
	}
	return list
}

func (d *document) scalar(n *yaml.Node) any {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		if value, ok := oldBoolean(n); ok && d.options.YAML11 {
			return value
		}
		return n.Value
	case "!!null", "!!bool", "!!int", "!!float":
		var value any
		if err := n.Decode(&value); err != nil {
			d.failAt(n.Line, "%s", strings.TrimPrefix(plaintext.HideYAML(err).Error(), "yaml: "))
		}
		return d.convertNumber(n, value)
	default:
		d.unknownTag(n)
		return n.Value // the only problem of the value
	}
}

// oldBoolean returns the value that a scalar has in YAML 1.1 alone, where more words are booleans.
func oldBoolean(n *yaml.Node) (value, ok bool) {
	if n.Style != 0 || n.ShortTag() != "!!str" {
		return false, false
	}
	switch n.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// convertNumber converts a number to int64 or float64 and returns other values unchanged. Integers
// beyond 64 bits lose precision, as in JSON.
func (d *document) convertNumber(n *yaml.Node, value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case uint64:
		return float64(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.failNumber(n)
		}
	}
	return value
}

func (d *document) failNumber(n *yaml.Node) {
	d.failAt(n.Line, "%s is a number that Kubernetes objects cannot hold; "+
		"put it in quotes if it is a text", n.Value)
}

func (d *document) wantTag(n *yaml.Node, tag string) {
	if n.ShortTag() != tag {
		d.unknownTag(n)
	}
}

func (d *document) unknownTag(n *yaml.Node) {
	d.failAt(n.Line, "the tag has no meaning in Kubernetes objects; "+
		"remove it, or quote a text that begins with !")
}

// typeName returns the name of a value's type in messages.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	}
	return "non-scalar"
}
