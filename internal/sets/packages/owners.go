package packages

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// ownersOf returns the owners of a live object other than the package of an inventory, and the
// ApplySet that it is or was. Applied is
// as in plan.Owner; for an object that is to be deleted it is what was applied last.
func ownersOf(inv *inventory.Inventory, live, applied *unstructured.Unstructured) []owner.Owner {
	if applied == nil {
		applied = lastApplied(live)
	}
	found := owner.Others(live, applied, owner.Owner{Kind: owner.Package, ID: inv.ID})
	own := owner.Owner{Kind: owner.ApplySet, Name: inv.ApplySetID()}
	return slices.DeleteFunc(found, own.Is)
}

// lastApplied returns the configuration that was applied last, or nil if the object has none.
func lastApplied(live *unstructured.Unstructured) *unstructured.Unstructured {
	text, applied := live.GetAnnotations()[resource.AnnKubectlApplied], &unstructured.Unstructured{}
	if text == "" || applied.UnmarshalJSON([]byte(text)) != nil {
		return nil
	}
	return applied
}
