package enginetest

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	if c.Refuses != nil {
		if err := c.Refuses(w); err != nil {
			return nil, err
		}
	}
	next, err := c.next(ref, w)
	if err != nil {
		return nil, err
	}
	next = stored(next)
	if c.Stores != nil {
		c.Stores(next)
	}
	live := c.objects[ref]
	switch {
	case w.DryRun:
		return answer(w, next), nil
	case live != nil && next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0:
		c.remove(ref)
	case live != nil && equal(live, next):
		next = live
	default:
		if group, _, _ := unstructured.NestedString(next.Object, "spec", "group"); group != "" {
			c.outdated, c.documents = c.schemas(group), c.documentsOf()
			c.published = time.Now().Add(c.Publishes)
		}
		next = c.store(next)
		c.script(ref, next.GetUID())
	}
	return answer(w, next), c.count(string(w.Method), ref)
}

// stored returns an object as the server reads it again once it has stored it: those of built-in
// kinds without lists and maps that are empty. Definitions have nobody who writes their status.
func stored(obj *unstructured.Unstructured) *unstructured.Unstructured {
	fields, ok := builtin.Stored(obj.Object)
	if !ok || obj.GetKind() == "CustomResourceDefinition" {
		return obj
	}
	next := &unstructured.Unstructured{Object: fields}
	next.SetManagedFields(obj.GetManagedFields())
	return next
}

// answer returns a copy of a stored object as a client gets it.
func answer(w cluster.Write, obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	if w.Method == cluster.Create {
		obj.SetManagedFields(nil)
	}
	return obj
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
		if err := c.orphan(obj.GetUID()); err != nil {
			return false, err
		}
	}
	c.rewrite(d.Ref, obj)
	if d.Propagation == metav1.DeletePropagationForeground && c.isBlocked(obj) {
		obj = obj.DeepCopy()
		obj.SetFinalizers(append(obj.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	wait, held := c.Lingers[d.Ref], len(obj.GetFinalizers()) > 0
	if held && obj.GetDeletionTimestamp() == nil {
		c.store(markedDeleted(obj))
		c.discardOwned(obj)
	}
	removed := false
	switch {
	case wait > 0:
		c.later(d.Ref, obj.GetUID(), Change{After: wait, Gone: true})
	case !held:
		c.remove(d.Ref)
		removed = !leaves[d.Ref.GroupKind()] && (d.Propagation == "" ||
			d.Propagation == metav1.DeletePropagationBackground)
	}
	return removed, c.count("delete", d.Ref)
}

// markedDeleted returns an object whose deletion has begun, a pod with its grace period.
func markedDeleted(obj *unstructured.Unstructured) *unstructured.Unstructured {
	grace, _, _ := unstructured.NestedInt64(obj.Object, "spec", "terminationGracePeriodSeconds")
	marked, end := obj.DeepCopy(), metav1.NewTime(time.Now().Add(time.Duration(grace)*time.Second))
	marked.SetDeletionTimestamp(&end)
	marked.SetDeletionGracePeriodSeconds(&grace)
	if marked.GetGeneration() > 0 {
		marked.SetGeneration(marked.GetGeneration() + 1)
	}
	return marked
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
		err = c.scripted(ref)
	}
	if err != nil {
		c.leave()
	}
	return err
}

// scripted takes the next of the answers to writes of an object.
func (c *Cluster) scripted(ref object.Ref) error {
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

// ClockAhead returns what Ahead is.
func (c *Cluster) ClockAhead() time.Duration { return c.Ahead }

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
