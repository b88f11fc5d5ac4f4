package object

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// WithoutOwners returns the owner references of an object without those to the objects with some
// UIDs, and whether it has any of those.
func WithoutOwners(
	obj *unstructured.Unstructured, uids []types.UID,
) (rest []any, has bool) {
	all, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "ownerReferences")
	list, _ := all.([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if uid, _ := fields["uid"].(string); slices.Contains(uids, types.UID(uid)) {
			has = true
		} else {
			rest = append(rest, item)
		}
	}
	return rest, has
}

// OwnedError reports an object that must not lose its owner, the record of its set.
type OwnedError struct{ Object, Record Ref }

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%s has an owner reference to the record %s, and would be deleted with it: "+
		"remove the owner reference first", e.Object, e.Record)
}

// CheckOwned returns an *OwnedError for the first of the objects, of which some may be nil, that
// has an owner reference to one of the objects of a record.
func CheckOwned(
	record Ref, uids []types.UID, objects ...*unstructured.Unstructured,
) error {
	for _, obj := range objects {
		if obj == nil {
			continue
		}
		if _, has := WithoutOwners(obj, uids); has {
			return &OwnedError{RefOf(obj), record}
		}
	}
	return nil
}
