package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// IncompleteError reports that a file describes an inventory without a name, a namespace or an ID.
type IncompleteError struct {
	Origin  string
	Missing []string // fields
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf(
		"%s: the inventory lacks %s; restore it, or run init --force to begin a new inventory",
		e.Origin, strings.Join(e.Missing, " and "),
	)
}

// MismatchError reports that the record in the cluster belongs to another package.
type MismatchError struct {
	ref          object.Ref
	stored, Want string // the IDs
	shardOf      string // the ID of the inventory whose record it is a part of; else empty
}

func (e *MismatchError) Error() string {
	if e.stored == "" && e.shardOf != "" {
		return fmt.Sprintf(
			"the inventory %s in the cluster is a part of the record of another one, which has "+
				"the id %q; give this package an inventory of its own with init --force --name",
			e.ref, e.shardOf,
		)
	}
	if e.stored == "" {
		return fmt.Sprintf(
			"the inventory %s in the cluster has no id, but this package has %q: somebody took "+
				"the label %s off; put it back if the inventory is this package's", e.ref, e.Want,
			IDKey,
		)
	}
	return fmt.Sprintf(
		"the inventory %s in the cluster has the id %q, but this package has %q: it is the "+
			"record of another package; give this package an inventory of its own with init "+
			"--force --name", e.ref, e.stored, e.Want,
	)
}

// unreadableError reports that the record in the cluster cannot be parsed.
type unreadableError struct {
	ref   object.Ref
	cause error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf(
		"the inventory %s in the cluster is damaged: %v; nothing was changed, repair it with "+
			"kubectl edit", e.ref, e.cause,
	)
}

func (e *unreadableError) Unwrap() error { return e.cause }

// NoNamespaceError reports that the namespace of the record does not exist.
type NoNamespaceError struct{ Namespace string }

func (e *NoNamespaceError) Error() string {
	return fmt.Sprintf(
		"inventory namespace %q does not exist; create it or add it to the package", e.Namespace,
	)
}

// missingShardError reports that a shard of a record does not exist.
type missingShardError struct {
	ref      object.Ref // of the inventory
	id       string
	shard    object.Ref
	number   int
	of       int
	existing *unstructured.Unstructured // what has the part's name; nil if nothing has
}

func (e *missingShardError) Error() string {
	what := "is missing"
	if e.existing != nil {
		what = fmt.Sprintf("has the label %s: %q", shardOfKey, e.existing.GetLabels()[shardOfKey])
	}
	return fmt.Sprintf(
		"the inventory %s in the cluster is damaged: %s, part %d of %d, %s; nothing was changed, "+
			"restore it with the label %s: %s (restored empty, what it listed is no longer known)",
		e.ref, e.shard, e.number, e.of, what, shardOfKey, e.id,
	)
}

// nameTakenError reports that another object has the name of the next shard.
type nameTakenError struct {
	ref, shard object.Ref
}

func (e *nameTakenError) Error() string {
	return fmt.Sprintf(
		"the inventory %s has more members than one object holds, but %s, which would hold the "+
			"next, exists and is no part of it; delete that one, or give this package an "+
			"inventory of another name", e.ref, e.shard,
	)
}
