package history

import (
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The type, labels and annotations of the Secrets of a revision.
const (
	secretType       = "muster.dev/revision"
	labelSet         = "muster.dev/set"           // Set.ID
	labelRevision    = "muster.dev/revision"      // number
	labelPart        = "muster.dev/revision-part" // number of the part in its namespace
	annotationMeta   = "muster.dev/revision-meta" // Meta, on the head
	annotationPinned = "muster.dev/pinned"        // any value, on the head, keeps the revision
	// annotationStarted lists, on the head, the Jobs that a run has started since, in JSON: what the
	// revision says of their success counts no more.
	annotationStarted = "muster.dev/started"
)

// The limits of names and of values of labels.
const maxName, maxLabel, hashLength = 253, 63, 8

// secretKind is the kind of the parts.
var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// labelPattern matches the values that a label takes.
var labelPattern = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// label returns the value of the label for the ID of a set: the ID, or a digest of one that no
// label takes.
func (s Set) label() string {
	if len(s.ID) <= maxLabel && labelPattern.MatchString(s.ID) {
		return s.ID
	}
	return digest([]byte(s.ID))
}

// hash distinguishes sets of the same name.
func (s Set) hash() string { return digest([]byte(s.Namespace + "/" + s.ID))[:hashLength] }

// partName returns the name of a part. Those in other namespaces than that of the record, and those
// of a set whose name another set has too, get a hash of the set.
func (s Set) partName(revision, part int, hashed bool) string {
	suffix := s.suffix(revision, part, hashed)
	base := s.Name
	if len(base)+len(suffix) > maxName {
		sum := digest([]byte(base))[:hashLength]
		base = strings.TrimRight(base[:maxName-len(suffix)-hashLength-1], "-.") + "-" + sum
	}
	return base + suffix
}

// isPartElsewhere reports whether a Secret of the type has the name that a part of the set gets in
// another namespace than that of the record, and the labels. Before the hash it may have another
// name of the set, which may have been renamed.
func (s Set) isPartElsewhere(name string, labels map[string]string) bool {
	number, err := strconv.Atoi(labels[labelRevision])
	part, err2 := strconv.Atoi(labels[labelPart])
	if err != nil || err2 != nil || number <= 0 || part <= 0 || labels[labelSet] != s.label() {
		return false
	}
	return strings.HasSuffix(name, s.suffix(number, part, true))
}

// suffix returns the end of the name of a part.
func (s Set) suffix(revision, part int, hashed bool) string {
	suffix := "-rev-" + strconv.Itoa(revision)
	if hashed {
		suffix = "-" + s.hash() + suffix
	}
	if part != 1 {
		suffix += "-" + strconv.Itoa(part)
	}
	return suffix
}

// secret returns the Secret of a part.
func (s Set) secret(
	namespace, name string, revision, part int, data map[string][]byte,
) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"type": secretType, "immutable": true, "data": encoded(data),
	}}
	obj.SetGroupVersionKind(secretKind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(map[string]string{
		labelSet: s.label(), labelRevision: strconv.Itoa(revision), labelPart: strconv.Itoa(part),
	})
	return obj
}

// isHead reports whether metadata is that of a head.
func isHead(m metav1.Object) bool {
	_, ok := m.GetAnnotations()[annotationMeta]
	return ok
}
