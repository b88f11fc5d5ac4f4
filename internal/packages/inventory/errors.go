package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// IncompleteError says that a file describes an inventory without a name, a namespace or an ID.
type IncompleteError struct {
	Origin  string
	Missing []string // fields
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s: the inventory lacks %s; restore it, or run init --force to begin a new inventory",
		e.Origin, strings.Join(e.Missing, " and "))
}

// MismatchError says that the record in the cluster is not that of this package.
type MismatchError struct {
	ref          object.Ref
	stored, Want string // the IDs
	partOf       string // the ID of the inventory whose record it is a part of; else empty
}

func (e *MismatchError) Error() string {
	if e.stored == "" && e.partOf != "" {
		return fmt.Sprintf("the inventory %s in the cluster is a part of the record of another one, which has the id %q; "+
			"give this package an inventory of its own with init --force --name", e.ref, e.partOf)
	}
	if e.stored == "" {
		return fmt.Sprintf("the inventory %s in the cluster has no id, but this package has %q: somebody took the label %s off; "+
			"put it back if the inventory is this package's", e.ref, e.Want, IDKey)
	}
	return fmt.Sprintf("the inventory %s in the cluster has the id %q, but this package has %q: it is the record of another package; "+
		"give this package an inventory of its own with init --force --name", e.ref, e.stored, e.Want)
}

// unreadableError says that the record in the cluster was edited into something that is none.
type unreadableError struct {
	ref   object.Ref
	cause error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("the inventory %s in the cluster is damaged: %v; nothing was changed, mend it with kubectl edit", e.ref, e.cause)
}

func (e *unreadableError) Unwrap() error { return e.cause }

// NoNamespaceError says that there is no place for the record.
type NoNamespaceError struct{ Namespace string }

func (e *NoNamespaceError) Error() string {
	return fmt.Sprintf("inventory namespace %q does not exist; create it or add it to the package", e.Namespace)
}

// lostPartError says that a part of a record is not there.
type lostPartError struct {
	ref      object.Ref // of the inventory
	id       string
	part     object.Ref
	number   int
	of       int
	existing *unstructured.Unstructured // what has the part's name; nil if nothing has
}

func (e *lostPartError) Error() string {
	what := "is missing"
	if e.existing != nil {
		what = fmt.Sprintf("has the label %s: %q", partOfKey, e.existing.GetLabels()[partOfKey])
	}
	return fmt.Sprintf("the inventory %s in the cluster is damaged: %s, part %d of %d, %s; nothing was changed, restore it with the label %s: %s "+
		"(restored empty, what it listed is no longer known)", e.ref, e.part, e.number, e.of, what, partOfKey, e.id)
}

// takenError says that the record needs a further object, whose name something else has.
type takenError struct {
	ref, part object.Ref
}

func (e *takenError) Error() string {
	return fmt.Sprintf("the inventory %s has more members than one object holds, but %s, which would hold the next, exists and is no part of it; "+
		"delete that one, or give this package an inventory of another name", e.ref, e.part)
}
