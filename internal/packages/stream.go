package packages

import (
	"encoding/json"
	"io"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// Stdin is the argument that stands for the standard input in place of a folder.
const Stdin = "-"

// streamName is what origins and errors call the standard input.
const streamName = "stdin"

// readStream reads a package from one stream. Its inventory is a ResourceGroup, a ConfigMap of an older tool or a section of
// a Kptfile among the documents; objects that are local configuration, or the configuration of the package's functions, are left out as they
// are of folders.
func readStream(in io.Reader) *contents {
	var files []*unstructured.Unstructured
	objects, err := manifest.Read(in, streamName, func(obj map[string]any) bool {
		u := &unstructured.Unstructured{Object: obj}
		if u.GroupVersionKind().GroupKind() == inventory.KptfileKind.GroupKind() {
			files = append(files, u)
			return true
		}
		return omit(obj)
	})
	c := &contents{broken: err}
	c.name, c.way = "the stream", "pass the file of the inventory along, resourcegroup.yaml as a rule"
	root := &inventory.Kptfile{}
	for _, file := range files {
		if parsed := c.kptfile(file); filePath(file) == inventory.KptfileName {
			root = parsed
		}
	}
	for _, obj := range objects {
		where := filePath(obj.Unstructured)
		if where != "" {
			obj.Origin = manifest.Origin{Path: where}
		}
		if !root.Configures(where) {
			c.add(obj, func() bool { return false })
		}
	}
	return c
}

// kptfile takes in a document of a stream that is a Kptfile. Those of other versions are passed over, as subpackages may
// have them.
func (c *contents) kptfile(doc *unstructured.Unstructured) *inventory.Kptfile {
	if doc.GroupVersionKind() != inventory.KptfileKind {
		return &inventory.Kptfile{}
	}
	where := filePath(doc)
	if where == "" {
		where = streamName + ": " + inventory.KptfileName + " " + doc.GetName()
	}
	text, err := json.Marshal(doc.Object)
	if err != nil {
		c.note(err)
		return &inventory.Kptfile{}
	}
	file, err := inventory.ParseKptfile(text, where)
	c.note(err)
	c.addKptfile(file, where)
	return file
}

// filePath gives the file, with slashes, that a tool says it has read an object from.
func filePath(obj *unstructured.Unstructured) string {
	for _, key := range []string{PathKey, OlderPathKey} {
		if file := obj.GetAnnotations()[key]; file != "" {
			return path.Clean(file)
		}
	}
	return ""
}

// tidy removes the annotations that tools leave for each other while objects are on their way between files.
func tidy(obj manifest.Object) {
	annotations := obj.GetAnnotations()
	for key := range annotations {
		if key == OlderPathKey || key == olderIndexKey || strings.HasPrefix(key, internalPrefix) {
			unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", key)
		}
	}
	if len(annotations) > 0 && len(obj.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
}

// omit leaves out local configuration, whatever else it is: files of values, say, may be marked so. An inventory is read
// all the same.
func omit(obj map[string]any) bool { return isLocal(obj) && !describes(obj) }

// isLocal reports whether an object, as it was read, is meant for tools on this machine. A true that lacks its quotes counts.
func isLocal(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	switch value := annotations[localConfigKey].(type) {
	case string:
		return value != "false"
	case bool:
		return value
	default:
		return false
	}
}
