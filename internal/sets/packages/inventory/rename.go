package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/object"
)

// Renamed returns a copy of an inventory whose record has another name or namespace. The record
// will store where it was before.
func (inv *Inventory) Renamed(namespace, name string) *Inventory {
	to := *inv
	to.Ref.Namespace, to.Ref.Name = namespace, name
	to.Annotations = maps.Clone(inv.Annotations)
	if to.Annotations == nil {
		to.Annotations = map[string]string{}
	}
	to.Annotations[renamedFromKey] = inv.Ref.Namespace + "/" + inv.Ref.Name
	return &to
}

// RenamedFrom returns the reference that the loaded record had before it was renamed, the zero one
// if it never was.
func (s *Store) RenamedFrom() object.Ref {
	if !s.Exists() {
		return object.Ref{}
	}
	ref := s.Inventory.Ref
	var ok bool
	ref.Namespace, ref.Name, ok = strings.Cut(s.main.stored.GetAnnotations()[renamedFromKey], "/")
	if !ok {
		return object.Ref{}
	}
	return ref
}

// RenameText returns the text of a file that describes the inventory at from, a ResourceGroup or a
// section of a Kptfile, with the name and the namespace of to. All other bytes stay. It returns an
// error if it cannot tell which bytes to replace.
func RenameText(text []byte, from, to object.Ref) ([]byte, error) {
	section, err := findSection(text, from)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	first, last := section.edit("name", to.Name), section.edit("namespace", to.Namespace)
	if first.node.Line == last.node.Line && first.node.Column < last.node.Column {
		first, last = last, first // so that the column of the other stays right
	}
	for _, e := range []edit{first, last} {
		at := e.node.Line - 1
		if lines[at], err = e.apply(lines[at]); err != nil {
			return nil, err
		}
	}
	changed := bytes.Join(lines, nil)
	_, err = findSection(changed, to)
	return changed, err
}

// section is the mapping of a file that holds the name and the namespace of an inventory.
type section struct{ *yaml.Node }

// errNoSection reports a file whose text does not name the inventory in the usual place.
var errNoSection = errors.New("cannot tell where the name of the inventory is; change it by hand")

// findSection returns the section of a file that names an inventory.
func findSection(text []byte, ref object.Ref) (section, error) {
	if err := yamlsize.Check(text); err != nil {
		return section{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return section{}, errNoSection
		} else if err != nil {
			return section{}, fmt.Errorf("%s", yamlError(err, text))
		}
		if document.Kind != yaml.DocumentNode {
			continue
		}
		top := section{document.Content[0]}
		version, _ := schema.ParseGroupVersion(top.value("apiVersion"))
		key := map[schema.GroupKind]string{
			ResourceGroupKind.GroupKind(): "metadata", KptfileKind.GroupKind(): "inventory",
		}[schema.GroupKind{Group: version.Group, Kind: top.value("kind")}]
		if found := top.field(key); found != nil {
			s := section{found}
			if s.value("name") == ref.Name && s.value("namespace") == ref.Namespace {
				return s, nil
			}
		}
	}
}

// field returns the value of a key, or nil.
func (s section) field(key string) *yaml.Node {
	for i := 0; s.Kind == yaml.MappingNode && i+1 < len(s.Content); i += 2 {
		if s.Content[i].Value == key {
			return s.Content[i+1]
		}
	}
	return nil
}

// value returns the text of a key, or an empty string.
func (s section) value(key string) string {
	if node := s.field(key); node != nil && node.Kind == yaml.ScalarNode {
		return node.Value
	}
	return ""
}

// edit returns the replacement of a value.
func (s section) edit(key, value string) edit { return edit{s.field(key), value} }

// edit is the replacement of a scalar.
type edit struct {
	node  *yaml.Node
	value string
}

// apply returns the line of the scalar with the new value, in quotes of the same kind.
func (e edit) apply(line []byte) ([]byte, error) {
	if e.node.Value == e.value {
		return line, nil
	}
	before, after := e.node.Value, scalar(e.value)
	for style, quote := range map[yaml.Style]string{
		yaml.DoubleQuotedStyle: `"`, yaml.SingleQuotedStyle: "'",
	} {
		if e.node.Style&style != 0 {
			before, after = quote+before+quote, quote+e.value+quote
		}
	}
	runes := []rune(string(line)) // columns count characters
	at := e.node.Column - 1
	if at > len(runes) || !strings.HasPrefix(string(runes[at:]), before) {
		return nil, errNoSection
	}
	rest := strings.TrimPrefix(string(runes[at:]), before)
	return []byte(string(runes[:at]) + after + rest), nil
}
