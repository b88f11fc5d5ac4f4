// Package manifest parses manifests into objects that know their file and document.
//
// The input is a folder or a stream of YAML documents (JSON is YAML). The output is the list of
// objects in the order of the text, or every problem with its file, document and line. Lists are
// unwrapped. Values have the types of package unstructured: int64, float64, string, bool, nil, maps
// and slices. The package neither selects nor completes objects: a dialect handles namespaces,
// defaults and local configuration, and the API server validates objects of its kinds.
package manifest

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object and the place that describes it. It has at least an apiVersion, a
// kind and a metadata.name. Its labels and annotations are strings.
type Object struct {
	*unstructured.Unstructured
	Origin Origin
}

// Origin is the place of one document. All items of a list have the origin of the list.
type Origin struct {
	// Path is the file, relative to the folder that was loaded and with slashes, or the name of the
	// stream.
	Path string
	// Document is the position in the file, counted from 1, empty documents included. It is 0 when no
	// other document of the file holds anything.
	Document int
	// Line is the line of the file, counted from 1, on which the document's content starts.
	Line int
}

// String returns the file and, if the file has several documents, the line of the document:
// mysql/service.yaml:14.
func (o Origin) String() string {
	if o.Document == 0 {
		return o.Path
	}
	return fmt.Sprintf("%s:%d", o.Path, o.Line)
}

var lineSuffix = regexp.MustCompile(`:\d+$`)

// FileOf returns the path in the text of an origin.
func FileOf(origin string) string { return lineSuffix.ReplaceAllString(origin, "") }
