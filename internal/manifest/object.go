package manifest

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/foreign"
	"github.com/muster-deploy/muster/internal/object"
)

// unwrap returns the objects in a value: the object itself, or the items of a list and of the lists
// in it.
func (d *document) unwrap(value any, n *yaml.Node) []map[string]any {
	obj, ok := value.(map[string]any)
	if !ok {
		d.failAt(n.Line, "an object must be a map with apiVersion, kind and metadata, got %s",
			typeName(value))
		return nil
	}
	if d.options.Omit != nil && d.options.Omit(obj) {
		return nil
	}
	if !d.checkForeign(obj, n) {
		return nil
	}
	if !IsList(obj) {
		d.expansion.budget.AddObject()
		d.check(obj, n)
		return []map[string]any{obj}
	}
	at := child(n, "items")
	items, ok := obj["items"].([]any)
	if _, found := obj["items"]; !found {
		d.failAt(n.Line, "items is missing")
	} else if !ok && obj["items"] != nil {
		d.failAt(at.Line, "items must be a list, got %s", typeName(obj["items"]))
	}
	var objects []map[string]any
	for i, item := range items {
		typeItem(obj, item)
		objects = append(objects, d.unwrap(item, element(at, i))...)
	}
	return objects
}

// checkForeign reports what an object, or a list of them, has for other tools. It returns false if
// the object is refused.
func (d *document) checkForeign(obj map[string]any, n *yaml.Node) bool {
	if d.options.Foreign == KeepForeign {
		return true
	}
	d.subject = subject(obj)
	defer func() { d.subject = "" }()
	ok := true
	for _, f := range foreign.Find(obj) {
		at := n
		for _, key := range f.Path {
			at = child(at, key)
		}
		if f.Minor || d.options.Foreign == WarnForeign {
			d.warnAt(at.Line, "%s", f.Warning())
			continue
		}
		d.failAt(at.Line, "%s", f.Refusal())
		ok = false
	}
	return ok
}

// IsList reports whether an object is only a wrapper of others: the List of the core group, or a
// kind named after its items that has items and no name. A custom resource such as an AllowList has
// a name.
func IsList(obj map[string]any) bool {
	kind, _ := obj["kind"].(string)
	if kind == "List" && obj["apiVersion"] == "v1" {
		return true
	}
	metadata, _ := obj["metadata"].(map[string]any)
	_, isArray := obj["items"].([]any)
	return isArray && strings.HasSuffix(kind, "List") && metadata["name"] == nil
}

// typeItem sets the type of an item that the list implies, as in a ConfigMapList of the API server.
func typeItem(list map[string]any, item any) {
	obj, _ := item.(map[string]any)
	kind := strings.TrimSuffix(list["kind"].(string), "List")
	if obj == nil || kind == "" || obj["apiVersion"] != nil || obj["kind"] != nil {
		return
	}
	obj["apiVersion"], obj["kind"] = list["apiVersion"], kind
}

// check reports missing or invalid fields that identify an object, and invalid labels and
// annotations.
func (d *document) check(obj map[string]any, n *yaml.Node) {
	if obj["apiVersion"] == nil && obj["kind"] == nil {
		d.failAt(n.Line, "apiVersion and kind are missing; leave out what is not a Kubernetes object")
		return
	}
	d.checkType(obj, n)
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok && obj["metadata"] != nil {
		d.failAt(child(n, "metadata").Line, "metadata must be a map, got %s", typeName(obj["metadata"]))
		return
	}
	at := child(n, "metadata")
	if unnamed := d.options.Unnamed; unnamed == nil || !unnamed(obj) {
		d.checkName(obj, metadata, at)
	}
	d.checkString(metadata, at, "namespace", "metadata.namespace")
	d.subject = subject(obj)
	d.checkPlace(metadata, at)
	d.dropServerMetadata(obj, metadata, at)
	d.checkStrings(metadata, at, "label", "labels")
	d.checkStrings(metadata, at, "annotation", "annotations")
	if obj["apiVersion"] == "v1" && obj["kind"] == "Secret" {
		d.checkSecret(obj, n)
	}
	d.subject = ""
}

// subject returns the prefix of an object's problems, empty without a name.
func subject(obj map[string]any) string {
	u := &unstructured.Unstructured{Object: obj}
	if u.GetKind() == "" || u.GetName() == "" {
		return ""
	}
	return object.RefOf(u).String() + ": "
}

// checkPlace reports a name or namespace that no URL path of an object can have. The server checks
// the rules of the kind.
func (d *document) checkPlace(metadata map[string]any, n *yaml.Node) {
	name, _ := metadata["name"].(string)
	if problems := content.IsPathSegmentName(name); name != "" && len(problems) > 0 {
		d.failAt(child(n, "name").Line, "metadata.name %q %s", name, problems[0])
	}
	namespace, _ := metadata["namespace"].(string)
	if problems := validation.IsDNS1123Label(namespace); namespace != "" && len(problems) > 0 {
		d.failAt(child(n, "namespace").Line, "metadata.namespace %q: %s", namespace, problems[0])
	}
}

func (d *document) checkType(obj map[string]any, n *yaml.Node) {
	for _, key := range []string{"apiVersion", "kind"} {
		if obj[key] == nil || obj[key] == "" {
			d.failAt(n.Line, "%s is missing", key)
		}
		d.checkString(obj, n, key, key)
	}
	version, _ := obj["apiVersion"].(string)
	if gv, err := schema.ParseGroupVersion(version); err != nil || version != "" && gv.Version == "" {
		d.failAt(child(n, "apiVersion").Line, "apiVersion %q must be a version or group/version", version)
	}
}

func (d *document) checkName(obj, metadata map[string]any, n *yaml.Node) {
	d.checkString(metadata, n, "name", "metadata.name")
	if name := metadata["name"]; name != nil && name != "" {
		return
	}
	if metadata["generateName"] != nil {
		d.failAt(child(n, "generateName").Line,
			"metadata.generateName is not supported, "+
				"since the next run could not tell which object it made; set metadata.name")
		return
	}
	version, _ := obj["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	if tool, ok := inputsOf[group]; ok {
		d.failAt(n.Line, "metadata.name is missing: it is a document for %s; give what that prints, and "+
			"leave the document out", tool)
		return
	}
	d.failAt(n.Line, "metadata.name is missing")
}

// inputsOf are the groups of documents that are read by other tools and are no objects.
var inputsOf = map[string]string{
	"kbld.k14s.io": "kbld", "vendir.k14s.io": "vendir", "imgpkg.carvel.dev": "imgpkg",
	"kind.x-k8s.io": "kind",
}

// maxIdentity limits the parts of an object's identity. Names have at most 253 bytes.
const maxIdentity = 1000

// checkString reports a value that is not a string, or is none that can identify an object. field
// is its name in the message.
func (d *document) checkString(m map[string]any, n *yaml.Node, key, field string) {
	value := m[key]
	text, ok := value.(string)
	switch {
	case value == nil:
	case !ok:
		d.failAt(child(n, key).Line, "%s must be a string, got %s", field, typeName(value))
	case len(text) > maxIdentity:
		d.failAt(child(n, key).Line, "%s has %d bytes, more than any server accepts", field, len(text))
	case strings.ContainsFunc(text, unicode.IsControl):
		d.failAt(child(n, key).Line, "%s %q must not have control characters", field, text)
	}
}

// checkStrings reports the values of a metadata map that are not strings. A null map counts as
// empty.
func (d *document) checkStrings(metadata map[string]any, n *yaml.Node, word, key string) {
	values, ok := metadata[key].(map[string]any)
	if !ok && metadata[key] != nil {
		d.failMetadataAt(child(n, key).Line, "metadata.%s must be a string map", key)
	}
	at := child(n, key)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := values[name].(string); !ok && !d.omit() {
			d.failMetadataAt(child(at, name).Line, "%s %q must be a string, got %s", word, name,
				typeName(values[name]))
		}
	}
}

// checkSecret reports the values of a Secret that are not strings: some servers quote them in the
// error. A null value counts as absent.
func (d *document) checkSecret(obj map[string]any, n *yaml.Node) {
	for _, field := range []string{"data", "stringData"} {
		values, ok := obj[field].(map[string]any)
		at := child(n, field)
		if !ok && obj[field] != nil {
			d.failAt(at.Line, "%s must be a map of strings, got %s", field, typeName(obj[field]))
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if _, ok := values[name].(string); !ok && values[name] != nil && !d.omit() {
				d.failAt(child(at, name).Line,
					"%s %q must be a string, got %s; a text that looks otherwise needs quotes", field, name,
					typeName(values[name]))
			}
		}
	}
}

// child returns the node of a map entry, or the map's own node if the entry has none, as merged
// entries.
func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if keyText(n.Content[i]) == key {
			return n.Content[i+1]
		}
	}
	return n
}

// element returns the node of a list item.
func element(n *yaml.Node, i int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.SequenceNode || i >= len(n.Content) {
		return n
	}
	return n.Content[i]
}
