package enginetest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Write stores one object.
func (c *Cluster) Write(
	ctx context.Context, w cluster.Write,
) (*unstructured.Unstructured, error) {
	ref := object.RefOf(w.Object)
	if err := permit(ctx, w.DryRun); err != nil {
		return nil, err
	}
	if err := c.enter(ref); err != nil {
		return nil, err
	}
	defer c.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Sent = append(c.Sent, w)
	var next *unstructured.Unstructured
	err := c.refuse(w)
	if err == nil {
		next, err = c.next(ref, w)
	}
	if err == nil && c.Stores != nil {
		c.Stores(next)
	}
	if err != nil || w.DryRun {
		return next, err
	}
	if group, _, _ := unstructured.NestedString(next.Object, "spec", "group"); group != "" {
		c.outdated, c.documents = c.schemas(group), c.documentsOf()
		c.published = time.Now().Add(c.Publishes)
	}
	stored := c.store(next, w.Subresource == "")
	c.script(ref, stored.GetUID())
	return stored.DeepCopy(), c.count(string(w.Method), ref)
}

// contentDiffers reports whether objects differ in more than metadata and status, in which case the
// server increments the generation. Live may be nil.
func contentDiffers(live, next *unstructured.Unstructured) bool {
	if live == nil {
		return true
	}
	content := func(obj *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(obj.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return !reflect.DeepEqual(content(live), content(next))
}

// Delete removes one object, at once or after it has lingered.
func (c *Cluster) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	if err := permit(ctx, d.DryRun); err != nil {
		return false, err
	}
	if err := c.enter(d.Ref); err != nil {
		return false, err
	}
	defer c.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := c.objects[d.Ref]
	switch {
	case obj == nil && d.Missing:
		return true, apierrors.NewNotFound(resourceOf(d.Ref), d.Ref.Name)
	case obj == nil:
		return true, nil
	case d.UID != "" && obj.GetUID() != d.UID:
		return false, apierrors.NewConflict(resourceOf(d.Ref), d.Ref.Name,
			errors.New("the UID is another"))
	case d.Version != "" && obj.GetResourceVersion() != d.Version:
		return false, apierrors.NewConflict(resourceOf(d.Ref), d.Ref.Name,
			errors.New("the object has been modified"))
	case d.DryRun:
		return false, nil
	}
	if d.Propagation == metav1.DeletePropagationOrphan {
		c.orphan(obj.GetUID())
	}
	c.rewrite(d.Ref, obj)
	wait, held := c.Lingers[d.Ref], len(obj.GetFinalizers()) > 0
	if held {
		marked, now := obj.DeepCopy(), metav1.Now()
		marked.SetDeletionTimestamp(&now)
		c.store(marked, false)
	}
	switch {
	case wait > 0:
		c.later(d.Ref, obj.GetUID(), Change{After: wait, Gone: true})
	case !held:
		c.remove(d.Ref)
	}
	return false, c.count("delete", d.Ref)
}

// rewrite lets a controller create a deleted object once more, if it is one of Rewrites.
func (c *Cluster) rewrite(ref object.Ref, deleted *unstructured.Unstructured) {
	if len(c.Rewrites[ref]) == 0 {
		return
	}
	after := c.Rewrites[ref][0]
	c.Rewrites[ref] = c.Rewrites[ref][1:]
	rest := &unstructured.Unstructured{Object: map[string]any{}}
	rest.SetGroupVersionKind(deleted.GroupVersionKind())
	rest.SetName(ref.Name)
	rest.SetNamespace(ref.Namespace)
	rest.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "clusterrole-aggregation-controller",
	}})
	c.later(ref, "", Change{After: after, Makes: rest})
}

// orphan removes the owner references to an object from all others.
func (c *Cluster) orphan(uid types.UID) {
	for _, obj := range c.objects {
		refs := slices.DeleteFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
			return o.UID == uid
		})
		if len(refs) < len(obj.GetOwnerReferences()) {
			left := obj.DeepCopy()
			left.SetOwnerReferences(refs)
			c.store(left, false)
		}
	}
}

// permit returns an error unless the guard of a write permits it.
func permit(ctx context.Context, dryRun bool) error {
	if dryRun {
		return nil
	}
	return cluster.Permit(ctx)
}

// enter and leave frame one write.
func (c *Cluster) enter(ref object.Ref) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return ErrDead
	}
	c.flying++
	c.most = max(c.most, c.flying)
	for c.TooMuch > 0 && c.inside >= c.TooMuch {
		c.throttled++
		c.mu.Unlock()
		time.Sleep(time.Second)
		c.mu.Lock()
	}
	c.inside++
	c.mu.Unlock()
	time.Sleep(c.Takes + c.Slow[ref])
	err := c.Fails[ref]
	if err == nil {
		err = c.answer(ref)
	}
	if err != nil {
		c.leave()
	}
	return err
}

// answer takes the next of the answers to writes of an object.
func (c *Cluster) answer(ref object.Ref) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Answers[ref]) == 0 {
		return c.refusal
	}
	next := c.Answers[ref][0]
	c.Answers[ref] = c.Answers[ref][1:]
	return next
}

func (c *Cluster) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying--
	c.inside--
}

// Throttled returns the number of requests that were answered with 429.
func (c *Cluster) Throttled() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.throttled
}

// count notes a change of an object.
func (c *Cluster) count(method string, ref object.Ref) error {
	return c.note(method + " " + ref.String())
}

// countRecord notes a change of the record.
func (c *Cluster) countRecord(method string) error { return c.note(method + " record") }

// note keeps a change and dies if it was the one to die at.
func (c *Cluster) note(change string) error {
	c.Wrote = append(c.Wrote, change)
	if len(c.Wrote) == c.Dies {
		c.dead = true
		return ErrDead
	}
	return nil
}

// createdByReplace are the kinds whose objects the server creates when a missing one is replaced,
// unless the request names a UID: see AllowCreateOnUpdate of their strategies.
var createdByReplace = map[schema.GroupKind]bool{
	{Group: "coordination.k8s.io", Kind: "Lease"}:                    true,
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"}:           true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                     true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        true,
	{Kind: "Endpoints"}:  true,
	{Kind: "Event"}:      true,
	{Kind: "LimitRange"}: true,
	{Kind: "Service"}:    true,
}

// refuse returns why the server refuses a write.
func (c *Cluster) refuse(w cluster.Write) error {
	if c.Refuses == nil {
		return nil
	}
	return c.Refuses(w)
}

// next returns the object that a write makes, not yet stored.
func (c *Cluster) next(ref object.Ref, w cluster.Write) (*unstructured.Unstructured, error) {
	live := c.objects[ref]
	switch {
	case c.dead:
		return nil, ErrDead
	case w.UID != "" && (live == nil && w.Method == cluster.Apply ||
		live != nil && w.UID != live.GetUID()):
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name, errors.New("the UID is another"))
	case w.Version != "" && live != nil && w.Version != live.GetResourceVersion():
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name,
			errors.New("the object has been modified"))
	case w.Method == cluster.Create && live != nil:
		return nil, apierrors.NewAlreadyExists(resourceOf(ref), ref.Name)
	case w.Method == cluster.Create || w.Method == cluster.Apply && live == nil:
		return w.Object.DeepCopy(), nil
	case live == nil && w.Method == cluster.Replace && createdByReplace[ref.GroupKind()]:
		if w.Object.GetUID() != "" {
			return nil, apierrors.NewConflict(resourceOf(ref), ref.Name,
				errors.New("the UID in the precondition is that of no object"))
		}
		return w.Object.DeepCopy(), nil
	case live == nil:
		return nil, apierrors.NewNotFound(resourceOf(ref), ref.Name)
	case w.Method == cluster.Patch:
		return patched(live, w)
	case w.Method != cluster.Create && w.Object.GetUID() != "" && w.Object.GetUID() != live.GetUID():
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name, errors.New("the UID is another"))
	case w.Method == cluster.Replace && w.Object.GetResourceVersion() != live.GetResourceVersion(),
		w.Method == cluster.Apply && w.Object.GetResourceVersion() != "" &&
			w.Object.GetResourceVersion() != live.GetResourceVersion():
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name,
			errors.New("the object has been modified"))
	default:
		next := w.Object.DeepCopy()
		next.SetUID(live.GetUID())
		next.SetGeneration(live.GetGeneration())
		if status, ok := live.Object["status"]; ok && w.Subresource == "" {
			next.Object["status"] = status
		}
		return next, nil
	}
}

// patched applies a JSON patch, a strategic merge patch or a JSON merge patch.
func patched(live *unstructured.Unstructured, w cluster.Write) (*unstructured.Unstructured, error) {
	meta, isBuiltin := builtin.PatchMeta(live.GroupVersionKind())
	if w.PatchType == types.StrategicMergePatchType && isBuiltin {
		fields := map[string]any{}
		if err := utiljson.Unmarshal(w.Patch, &fields); err != nil {
			return nil, err
		}
		merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
			live.DeepCopy().Object, fields, meta,
		)
		return &unstructured.Unstructured{Object: merged}, err
	}
	before, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	apply := jsonpatch.MergePatch
	if w.PatchType == types.JSONPatchType {
		apply = func(before, data []byte) ([]byte, error) {
			patch, err := jsonpatch.DecodePatch(data)
			if err != nil {
				return nil, err
			}
			return patch.Apply(before)
		}
	}
	after, err := apply(before, w.Patch)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	return next, next.UnmarshalJSON(after)
}
