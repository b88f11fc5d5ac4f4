package enginetest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// collect deletes, as the garbage collector does, the objects whose last owner was the object of a
// UID, and ends the deletions of its owners that have waited for its end.
func (c *Cluster) collect(uid types.UID, owners []metav1.OwnerReference) {
	if !c.Collects {
		return
	}
	for _, owned := range c.ownedBy(uid) {
		if !c.hasOwner(owned) {
			c.discard(owned, false)
		}
	}
	for _, o := range owners {
		owner := c.withUID(o.UID)
		if owner == nil || c.isBlocked(owner) ||
			!slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			continue
		}
		owner = owner.DeepCopy()
		owner.SetFinalizers(slices.DeleteFunc(owner.GetFinalizers(), func(name string) bool {
			return name == metav1.FinalizerDeleteDependents
		}))
		if len(owner.GetFinalizers()) == 0 {
			c.remove(object.RefOf(owner))
			continue
		}
		c.store(owner)
	}
}

// discardOwned deletes the objects that an object owns whose deletion waits for theirs.
func (c *Cluster) discardOwned(owner *unstructured.Unstructured) {
	if !slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		return
	}
	for _, owned := range c.ownedBy(owner.GetUID()) {
		c.discard(owned, true)
	}
}

// discard deletes an object: in the foreground, if it has dependents that block its deletion, or in
// the background.
func (c *Cluster) discard(ref object.Ref, foreground bool) {
	obj := c.objects[ref]
	if obj == nil || obj.GetDeletionTimestamp() != nil {
		return
	}
	if foreground && c.isBlocked(obj) {
		obj = obj.DeepCopy()
		obj.SetFinalizers(append(obj.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	wait := c.Lingers[ref]
	if wait == 0 && len(obj.GetFinalizers()) == 0 {
		c.remove(ref)
		return
	}
	c.store(markedDeleted(obj))
	c.discardOwned(obj)
	if wait > 0 {
		c.later(ref, obj.GetUID(), Change{After: wait, Gone: true})
	}
}

// isBlocked reports whether the deletion of an object in the foreground has to wait for another.
func (c *Cluster) isBlocked(owner *unstructured.Unstructured) bool {
	return c.Collects && slices.ContainsFunc(c.ownedBy(owner.GetUID()), func(ref object.Ref) bool {
		return slices.ContainsFunc(c.objects[ref].GetOwnerReferences(),
			func(o metav1.OwnerReference) bool {
				return o.UID == owner.GetUID() && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
			})
	})
}

// ownedBy returns the objects with a reference to an owner, sorted.
func (c *Cluster) ownedBy(uid types.UID) []object.Ref {
	var found []object.Ref
	for ref, obj := range c.objects {
		if slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
			return o.UID == uid
		}) {
			found = append(found, ref)
		}
	}
	slices.SortFunc(found, func(a, b object.Ref) int {
		return strings.Compare(a.String(), b.String())
	})
	return found
}

// hasOwner reports whether an owner of an object exists.
func (c *Cluster) hasOwner(ref object.Ref) bool {
	obj := c.objects[ref]
	return obj != nil && slices.ContainsFunc(obj.GetOwnerReferences(),
		func(o metav1.OwnerReference) bool { return c.withUID(o.UID) != nil })
}

// withUID returns the object with a UID, nil if there is none.
func (c *Cluster) withUID(uid types.UID) *unstructured.Unstructured {
	for _, obj := range c.objects {
		if obj.GetUID() == uid {
			return obj
		}
	}
	return nil
}

// orphan removes the owner references to an object from all others.
func (c *Cluster) orphan(uid types.UID) error {
	for _, ref := range c.ownedBy(uid) {
		live := c.objects[ref]
		left := live.DeepCopy()
		owners := slices.DeleteFunc(left.GetOwnerReferences(),
			func(o metav1.OwnerReference) bool { return o.UID == uid })
		if left.SetOwnerReferences(owners); len(owners) == 0 {
			unstructured.RemoveNestedField(left.Object, "metadata", "ownerReferences")
		}
		left, err := tracked(
			cluster.Write{Method: cluster.Patch, Manager: "kube-controller-manager"}, live, left,
		)
		if err != nil {
			return err
		}
		c.store(left)
	}
	return nil
}
