// Package manifest turns bytes into objects that know the file and the document they came from.
//
// In goes a folder or a stream of YAML documents (JSON is YAML); out come the Kubernetes objects in the order in which
// they were written, or every problem that was found, each with its file, document and line. Lists are unwrapped.
// Values are those that package unstructured works with: int64, float64, string, bool, nil, maps and slices. The package
// neither chooses objects nor completes them: namespaces, defaults and local configuration are a dialect's business, and
// whether an object is valid for its kind is the API server's.
package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is one Kubernetes object together with the place that describes it. It has at least an apiVersion, a kind and a
// metadata.name, and its labels and annotations, if any, are strings.
type Object struct {
	*unstructured.Unstructured
	Origin Origin
}

// Origin is the place of one document. All items of a list have the origin of the list.
type Origin struct {
	// Path is the file, relative to the folder that was loaded and with slashes, or the name of the stream.
	Path string
	// Document is the position in the file, counted from 1, empty documents included. It is 0 when no other document of
	// the file holds anything.
	Document int
	// Line is the line of the file, counted from 1, on which the document's content starts.
	Line int
}

// String gives the file, followed by the document and its line if the file has several: mysql/service.yaml: document 2
// (line 14).
func (o Origin) String() string {
	if o.Document == 0 {
		return o.Path
	}
	return fmt.Sprintf("%s: document %d (line %d)", o.Path, o.Document, o.Line)
}
