// Package diff compares and merges two objects as data.
//
// It takes objects as they were read, recorded or wanted, and gives their difference (Between), the patch that brings one
// to the other as client-side apply does (ThreeWay), and whether a server-side apply would change anything (AppliedBy). It
// does no I/O, lays nothing out for a terminal and never modifies an object that it is given. It knows no vendor's keys.
// All functions may be called concurrently on the same objects.
package diff

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kind says what happened to the value at a path.
type Kind string

// The kinds of a change, as they are stored.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// FieldChange is one difference between two objects. Old is nil when the value was added and New when it was removed; both are
// JSON values that may be shared with the compared objects and must not be modified.
//
// Path names map keys as .spec.replicas, or ["app.kubernetes.io/name"] where a key is not a plain word. It names list items by
// their field name or key, as [name=web], if every item on both sides is a map with a distinct string there, else by index.
type FieldChange struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// String is the change in one line: a sign (+, - or ~), the path, and the values as JSON, shortened in the middle where they are
// long.
func (c FieldChange) String() string {
	switch c.Kind {
	case Added:
		return "+ " + c.Path + ": " + text(c.New)
	case Removed:
		return "- " + c.Path + ": " + text(c.Old)
	default:
		return "~ " + c.Path + ": " + text(c.Old) + " -> " + text(c.New)
	}
}

// Diff is all that differs between two objects; it is empty when they are equal. It is sorted by path: map keys by name, list
// items by index or in the order in which the old list, then the new one, has them.
type Diff []FieldChange

// String is one line per change, without a newline at the end.
func (d Diff) String() string {
	lines := make([]string, len(d))
	for i, change := range d {
		lines[i] = change.String()
	}
	return strings.Join(lines, "\n")
}

// Options says what a comparison leaves out. The zero value leaves out nothing beyond what Between always does.
type Options struct {
	// IgnoreAnnotations are keys of annotations that are not compared, such as copies of the object kept in itself.
	IgnoreAnnotations []string
}

// Between gives the changes that lead from have to want. A nil object is taken as one without fields. What the server alone
// writes is not compared: status and, of the metadata, managedFields, resourceVersion, uid, generation, creationTimestamp and
// selfLink. A null value in a map means the same as none. The content of Secrets is masked as Mask does it.
func Between(have, want *unstructured.Unstructured, options Options) Diff {
	have, want = Comparable(have, want, options)
	return compare(content(have), content(want))
}

// Comparable gives both objects as people may see them side by side: with what Between compares and nothing else. Either may be
// nil. The results share values with the arguments and must not be modified.
func Comparable(have, want *unstructured.Unstructured, options Options) (*unstructured.Unstructured, *unstructured.Unstructured) {
	have, want = Mask(have, want)
	return wrapped(compared(have, options)), wrapped(compared(want, options))
}

// serverMetadata are the fields of the metadata that the server alone writes, sorted.
var serverMetadata = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// ServerFields names what an object or a patch has of the fields that Between does not compare because the server alone writes
// them, sorted.
func ServerFields(fields map[string]any) []string {
	var names []string
	metadata := fieldsOf(fields, "metadata")
	for _, key := range serverMetadata {
		if _, ok := metadata[key]; ok {
			names = append(names, "metadata."+key)
		}
	}
	if _, ok := fields["status"]; ok {
		names = append(names, "status")
	}
	return names
}

// compared gives the fields of an object that take part in a comparison, sharing their values.
func compared(obj *unstructured.Unstructured, options Options) map[string]any {
	if obj == nil {
		return nil
	}
	fields := without(obj.Object, "status")
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return fields
	}
	metadata = without(metadata, serverMetadata...)
	fields["metadata"] = metadata
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok || len(annotations) == 0 {
		return fields
	}
	annotations = without(annotations, options.IgnoreAnnotations...)
	metadata["annotations"] = annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return fields
}

// without gives a copy of a map, sharing its values, that lacks the keys.
func without(m map[string]any, keys ...string) map[string]any {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return out
}
