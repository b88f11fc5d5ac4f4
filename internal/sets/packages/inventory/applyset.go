package inventory

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/owner"
)

// ApplySetKey is an annotation of the file and of the record. With the value "true" the record is
// the parent of an ApplySet: all objects of the package carry its label, so that other tools can
// list them. Nothing is ever deleted because of this label.
const ApplySetKey = "muster.dev/applyset"

// The label and the annotations of the parent of an ApplySet. Tools do not change a set whose
// tooling is another one.
const (
	parentID         = "applyset.kubernetes.io/id"
	parentTooling    = "applyset.kubernetes.io/tooling"
	parentKinds      = "applyset.kubernetes.io/contains-group-kinds"
	parentNamespaces = "applyset.kubernetes.io/additional-namespaces"

	tooling = "muster/v1"
)

// IsApplySet reports whether the package is an ApplySet too.
func (inv *Inventory) IsApplySet() bool { return inv.Annotations[ApplySetKey] == "true" }

// ApplySetID returns the ID of the ApplySet that the package is, or would be.
func (inv *Inventory) ApplySetID() string { return owner.ApplySetID(inv.Ref) }

// markParent makes the main object of the record the parent of an ApplySet with the members of all
// shards or, if the package is none any more, an object without the marks of one. It reports
// whether that changed anything.
func (inv *Inventory) markParent(obj *unstructured.Unstructured, contents []shardContent) bool {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if !inv.IsApplySet() {
		if labels[parentID] != inv.ApplySetID() {
			return false
		}
		delete(labels, parentID)
		for _, key := range []string{ApplySetKey, parentTooling, parentKinds, parentNamespaces} {
			delete(annotations, key)
		}
		obj.SetLabels(labels)
		obj.SetAnnotations(annotations)
		return true
	}
	kinds, namespaces := map[string]bool{}, map[string]bool{}
	for i := range contents {
		for _, ref := range contents[i].state.Refs() {
			kinds[ref.GroupKind().String()] = true
			if ref.Namespace != "" && ref.Namespace != inv.Ref.Namespace {
				namespaces[ref.Namespace] = true
			}
		}
	}
	return addMetadata(obj, map[string]string{parentID: inv.ApplySetID()}, map[string]string{
		parentTooling: tooling, parentKinds: commaList(kinds), parentNamespaces: commaList(namespaces),
	})
}

// commaList returns sorted names with commas between them.
func commaList(names map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(names)), ",")
}
