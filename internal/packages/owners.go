package packages

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
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

// others returns the function of a policy that finds the owners of objects among all owners. Find
// returns the owner with the name of its record; nil leaves the IDs that the objects carry. It is
// called by one goroutine at a time.
func others(
	f Format, find func(o owner.Owner, namespace string) owner.Owner,
) func(live, applied *unstructured.Unstructured) plan.Others {
	var finding sync.Mutex
	return func(live, applied *unstructured.Unstructured) plan.Others {
		found := f.Owners(live, applied)
		finding.Lock()
		defer finding.Unlock()
		for i := range found {
			if find != nil {
				found[i] = find(found[i], live.GetNamespace())
			}
		}
		all := plan.Others{Text: owner.Text(found)}
		if len(found) > 0 && f.AdviceOn != nil {
			all.Advice = f.AdviceOn(found[0])
		}
		all.Labels, all.Annotations = owner.MarksOf(found)
		return all
	}
}

// lastApplied returns the configuration that was applied last, or nil if the object has none.
func lastApplied(live *unstructured.Unstructured) *unstructured.Unstructured {
	text, applied := live.GetAnnotations()[lastAppliedKey], &unstructured.Unstructured{}
	if text == "" || applied.UnmarshalJSON([]byte(text)) != nil {
		return nil
	}
	return applied
}

// noteTaken prints the objects of apps, Helm and others that a run changes or deletes because it
// recognizes no owners but packages.
func (o *Operation) noteTaken(ctx context.Context) {
	names := owner.Names{Cluster: o.Cluster}
	for _, step := range o.plan.Steps {
		if step.Have == nil || step.Op != plan.Update && step.Op != plan.Delete {
			continue
		}
		found := slices.DeleteFunc(ownersOf(o.Inventory, step.Have, step.Want),
			func(o owner.Owner) bool { return o.Kind == owner.Package })
		found = names.FindAll(ctx, found, step.Ref.Namespace)
		if len(found) == 0 {
			continue
		}
		done := "takes it over"
		if step.Op == plan.Delete {
			done = "deletes it"
		}
		o.notice(step.Ref.Short() + " belongs to " + owner.Text(found) + "; this " + done)
	}
}
