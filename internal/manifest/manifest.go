// Package manifest parses manifests into objects that know their file and document.
//
// The input is a folder or a stream of YAML documents (JSON is YAML). The output is the list of
// objects in the order of the text, or every problem with its file, document and line. Lists are
// unwrapped. Values have the types of package unstructured: int64, float64, string, bool, nil, maps
// and slices. The package neither selects nor completes objects: a dialect handles namespaces,
// defaults and local configuration, and the API server validates objects of its kinds.
package manifest

import (
	"cmp"
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
	// Builder is the path of the kustomization that built the object; empty if none did. Path is then
	// the file that describes the object. If that is not known, Path is Builder, and the document and
	// the line are those of the output of the build.
	Builder string
}

// String returns the file and, if the file has several documents, the line of the document:
// mysql/service.yaml:14. For an object that was built it returns the file and the kustomization:
// ../base/service.yaml (built by kustomization.yaml).
func (o Origin) String() string {
	place := o.Path
	switch {
	case o.Builder == "":
	case o.Builder == o.Path:
		place += builtSuffix
	default:
		return fmt.Sprintf("%s (built by %s)", o.Path, o.Builder)
	}
	if o.Document == 0 {
		return place
	}
	return fmt.Sprintf("%s:%d", place, o.Line)
}

// builtSuffix follows the name of a kustomization that stands for its output.
const builtSuffix = " (built)"

var (
	lineSuffix = regexp.MustCompile(`:\d+$`)
	builtPlace = regexp.MustCompile(`^(.+) \(built(?: by (.+))?\)$`)
)

// FileOf returns the path in the text of an origin.
func FileOf(origin string) string {
	file := lineSuffix.ReplaceAllString(origin, "")
	if match := builtPlace.FindStringSubmatch(file); match != nil {
		return match[1]
	}
	return file
}

// BuilderOf returns the builder in the text of an origin.
func BuilderOf(origin string) string {
	match := builtPlace.FindStringSubmatch(lineSuffix.ReplaceAllString(origin, ""))
	if match == nil {
		return ""
	}
	return cmp.Or(match[2], match[1])
}
