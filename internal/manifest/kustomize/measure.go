package kustomize

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// amount is how much there is of objects, or of one value. It counts what aliases stand for as
// often as they do, and numbers that are too large for any integer.
type amount struct {
	objects float64
	bytes   float64 // of the text, about
	values  float64 // keys, texts, numbers, lists and maps
	images  float64 // fields with the name of an image
	refs    float64 // fields that may name other objects
	places  float64 // maps of labels and annotations
	vars    float64 // uses of variables, as in $(NAME)
	copies  float64 // operations of a JSON patch that copy a value
	squares float64 // of the number of entries of each map: the library compares each two
}

func (a *amount) add(b amount) {
	a.objects += b.objects
	a.bytes += b.bytes
	a.values += b.values
	a.images += b.images
	a.refs += b.refs
	a.places += b.places
	a.vars += b.vars
	a.copies += b.copies
	a.squares += b.squares
}

// times returns an amount so many times.
func (a amount) times(n float64) amount {
	return amount{
		a.objects * n, a.bytes * n, a.values * n, a.images * n, a.refs * n, a.places * n, a.vars * n,
		a.copies * n, a.squares * n,
	}
}

// memory returns the bytes of memory of a build that holds an amount, about: the library copies all
// objects once at the end, and writes them as one text, which is then parsed.
func (a amount) memory() float64 { return 2000*a.objects + 4*a.bytes + 500*a.values }

// census is what was found in all files of a build.
type census struct {
	objects float64
	named   map[string]float64 // the number of objects of each kind and name
	byKey   map[string]amount  // the largest value of each key
	unknown amount             // the largest value of which the key is not known
	texts   map[string]float64 // the number of texts below each key, in the files of one folder
	lists   map[string]float64 // the number of elements of all lists below each key
	list    map[string]float64 // that of the longest one
	files   map[string]measuredFile
	largest amount  // the largest object
	longest float64 // the length of the longest list
	name    float64 // the bytes of the longest name
}

// measuredFile is what was found in one file.
type measuredFile struct {
	amount
	texts map[string]float64
}

func newCensus() *census {
	return &census{
		named: map[string]float64{}, byKey: map[string]amount{}, files: map[string]measuredFile{},
		lists: map[string]float64{}, list: map[string]float64{},
	}
}

// maxKeys limits the keys and names that a census distinguishes. All others are one.
const maxKeys = 20_000

// distinct returns a key, or that of all keys which are not distinguished.
func distinct[V any](of map[string]V, key string) string {
	if _, known := of[key]; !known && len(of) >= maxKeys {
		return ""
	}
	return key
}

// raise makes the largest value of a key as large as another value.
func (c *census) raise(key string, to amount) {
	key = distinct(c.byKey, key)
	c.byKey[key] = c.byKey[key].or(to)
}

// or returns the larger of two amounts, by bytes and by values.
func (a amount) or(b amount) amount {
	const most = 1e15 // so that products of amounts stay numbers
	a.bytes = min(max(a.bytes, b.bytes), most)
	a.values = min(max(a.values, b.values), most)
	return a
}

// valueOf returns the size of the largest value of a key.
func (c *census) valueOf(key string) amount {
	return c.byKey[distinct(c.byKey, key)].or(c.unknown)
}

// measure returns the amount of the objects in a text: its documents, and the elements of its
// lists. What is no YAML fails later.
func (c *census) measure(text []byte) amount {
	all := amount{}
	for parser := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		if err := parser.Decode(&document); err != nil {
			return all
		}
		m := &measured{c, map[*yaml.Node]amount{}, map[*yaml.Node]bool{}}
		for _, root := range document.Content {
			size := m.node(root, "", "")
			size.objects = m.object(root)
			c.objects += size.objects
			size.copies = m.operations(root)
			all.add(size)
		}
	}
}

// measured is a document that is measured.
type measured struct {
	*census
	known map[*yaml.Node]amount // of what has an anchor
	open  map[*yaml.Node]bool   // lists that are being counted
}

// object counts the objects that a value stands for: those in a list, or one.
func (m *measured) object(n *yaml.Node) float64 {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode || m.open[n] {
		return 1
	}
	m.open[n] = true
	defer delete(m.open, n)
	kind, name, objects := "", "", 0.0
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch {
		case key.Value == "kind":
			kind = value.Value
		case key.Value == "metadata":
			name = child(value, "name")
		case key.Value == "items" && value.Kind == yaml.SequenceNode:
			for _, item := range value.Content {
				objects += m.object(item)
			}
		}
	}
	if objects > 0 && (kind == "" || strings.HasSuffix(kind, "List")) {
		return objects
	}
	m.named[distinct(m.named, kind+"/"+name)]++
	m.name = max(m.name, float64(len(name)))
	m.largest = m.largest.or(m.node(n, "", ""))
	return 1
}

// operations returns how many operations of a JSON patch copy values. Where the patch adds a value,
// each key of its path may get that.
func (m *measured) operations(n *yaml.Node) float64 {
	copies := 0.0
	for i := 0; n.Kind == yaml.SequenceNode && i < len(n.Content); i++ {
		operation := n.Content[i]
		if operation.Kind == yaml.AliasNode {
			operation = operation.Alias
		}
		if child(operation, "op") == "copy" {
			copies++
		}
		path := child(operation, "path")
		if len(path) > 4096 {
			continue
		}
		for key := range strings.SplitSeq(path, "/") {
			m.raise(key, m.node(operation, "", ""))
		}
	}
	return copies
}

// child returns the text of a field of a map.
func child(n *yaml.Node, key string) string {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		field, value := n.Content[i], n.Content[i+1]
		if field.Kind == yaml.AliasNode {
			field = field.Alias
		}
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if field.Value == key {
			return value.Value
		}
	}
	return ""
}

// node returns the amount of a value below a key, which is below another one.
func (m *measured) node(n *yaml.Node, key, above string) amount {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if size, known := m.known[n]; known { // all zero while it is being measured
		return size
	}
	if n.Anchor != "" {
		m.known[n] = amount{}
	}
	size := amount{bytes: float64(len(n.Value)) + 8, values: 1}
	switch n.Kind {
	case yaml.MappingNode:
		size.squares = float64(len(n.Content)/2) * float64(len(n.Content)/2)
		if hasLabels[key] {
			size.places++
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			field := n.Content[i]
			size.add(m.node(field, "", ""))
			value := m.node(n.Content[i+1], field.Value, key)
			m.raise(field.Value, value)
			size.add(value)
		}
	case yaml.SequenceNode:
		length := float64(len(n.Content))
		m.longest = max(m.longest, length)
		m.lists[distinct(m.lists, key)] += length
		m.list[distinct(m.list, key)] = max(m.list[distinct(m.list, key)], length)
		for _, element := range n.Content {
			size.add(m.node(element, key, above))
		}
	default:
		if key != "" {
			m.texts[distinct(m.texts, key)]++
		}
		size.add(meaningOf(n.Value, key, above))
	}
	if n.Anchor != "" {
		m.known[n] = size
	}
	return size
}

// hasLabels are keys of maps that get labels or annotations, and of lists of such.
var hasLabels = map[string]bool{
	"labels": true, "matchLabels": true, "selector": true, "annotations": true,
	"volumeClaimTemplates": true,
}

// hasName are keys of maps whose names are their own, and refer to no other object.
var hasName = map[string]bool{
	"metadata": true, "containers": true, "initContainers": true, "ephemeralContainers": true,
	"env": true, "ports": true, "volumes": true, "volumeMounts": true, "names": true,
	"additionalPrinterColumns": true, "versions": true,
}

// meaningOf counts what a text below a key, which is below another one, may stand for.
func meaningOf(text, key, above string) amount {
	found := amount{vars: float64(strings.Count(text, "$("))}
	switch {
	case strings.HasSuffix(key, "mage"):
		found.images++
	case key == "name" && hasName[above]:
	case strings.HasSuffix(key, "ame"), strings.HasSuffix(key, "ames"):
		found.refs++
	}
	return found
}
