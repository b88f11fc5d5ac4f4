// Package diff compares and merges two objects as data.
//
// Between returns the difference of two objects. ThreeWay returns the patch that client-side apply
// sends. AppliedBy reports whether a server-side apply would change nothing. The package does no
// I/O, formats nothing for a terminal, never modifies its arguments, and knows no keys of
// particular tools. All functions may be called concurrently on the same objects.
package diff

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// Kind is the kind of a change.
type Kind string

// The kinds of changes. Saved plans hold them.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// FieldChange is one difference between two objects. Old is nil for an added value, New for a
// removed one. Both are JSON values that may be shared with the compared objects and must not be
// modified.
//
// Path has the form of jsonvalue.Path: .spec.replicas, ["app.kubernetes.io/name"], [name=web], [0].
type FieldChange struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// String returns the change in one line: a sign (+, - or ~), the path, and the values as JSON,
// shortened in the middle if they are long.
func (c FieldChange) String() string {
	switch c.Kind {
	case Added:
		return "+ " + c.Path + ": " + valueText(c.New)
	case Removed:
		return "- " + c.Path + ": " + valueText(c.Old)
	default:
		return "~ " + c.Path + ": " + valueText(c.Old) + " -> " + valueText(c.New)
	}
}

// Diff is the list of all differences between two objects, in the order of jsonvalue.Walk. It is
// empty if they are equal.
type Diff []FieldChange

// String returns one line per change, without a newline at the end.
func (d Diff) String() string {
	lines := make([]string, len(d))
	for i, change := range d {
		lines[i] = change.String()
	}
	return strings.Join(lines, "\n")
}

// Options control a comparison. The zero value ignores only the fields that Between always ignores.
type Options struct {
	// IgnoreAnnotations are keys of annotations that are not compared, such as copies of the object
	// kept in itself.
	IgnoreAnnotations []string
}

// Between returns the changes that lead from have to want. A nil object has no fields. Between
// ignores fields that only the server writes: status and, of the metadata, managedFields,
// resourceVersion, uid, generation, creationTimestamp and selfLink. A null field equals an absent
// one. Mask hides the content of Secrets.
func Between(have, want *unstructured.Unstructured, options Options) Diff {
	have, want = Comparable(have, want, options)
	return compare(fieldsOrNil(have), fieldsOrNil(want))
}

// compare returns the differences between the fields of two objects.
func compare(have, want map[string]any) Diff {
	var diff Diff
	options := jsonvalue.Options{Lists: jsonvalue.ByName, NullIsAbsent: true}
	jsonvalue.Walk(have, want, options, func(d jsonvalue.Difference) {
		kind := Changed
		switch {
		case !d.InOld:
			kind = Added
		case !d.InNew:
			kind = Removed
		}
		diff = append(diff, FieldChange{Path: d.Path.String(), Kind: kind, Old: d.Old, New: d.New})
	})
	return diff
}

// Comparable returns both objects with exactly the fields that Between compares, for display.
// Either may be nil. The results share values with the arguments and must not be modified.
func Comparable(
	have, want *unstructured.Unstructured, options Options,
) (*unstructured.Unstructured, *unstructured.Unstructured) {
	have, want = Mask(have, want)
	return newObject(comparableFields(have, options)), newObject(comparableFields(want, options))
}

// serverMetadata are the metadata fields that only the server writes, sorted.
var serverMetadata = []string{
	"creationTimestamp",
	"generation",
	"managedFields",
	"resourceVersion",
	"selfLink",
	"uid",
}

// ServerFields returns the names of the fields of an object or patch that only the server writes
// and Between ignores, sorted.
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

// comparableFields returns the fields of an object that Between compares, sharing their values.
func comparableFields(obj *unstructured.Unstructured, options Options) map[string]any {
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

// without returns a copy of a map without the keys. The copy shares the values.
func without(m map[string]any, keys ...string) map[string]any {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return out
}
