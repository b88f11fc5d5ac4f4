// Package enginetest is an API server in memory for tests of the engine: it keeps objects, changes their status by a script
// as controllers would, and can fail, or die, at any write. Its delays are real time; tests run it under testing/synctest.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// ErrDead is what a client sees of a server that died, or of a connection that its own death cut.
var ErrDead = errors.New("connection lost")

// Change is what happens to an object some time after it was written.
type Change struct {
	After  time.Duration
	Status map[string]any // replaces the status; the observed generation is set to the object's own
	Gone   bool           // somebody deletes the object
	Again  bool           // somebody deletes the object and creates it anew
}

// Cluster is the server. Its exported fields are set before it is used.
type Cluster struct {
	Script   map[object.Ref][]Change      // what controllers do after each write of an object
	Lingers  map[object.Ref]time.Duration // how long a deleted object stays; without an entry it is gone at once
	Fails    map[object.Ref]error         // what a write or a deletion of an object answers
	Answers  map[object.Ref][]error       // what the next writes of an object answer, one each; nil carries the write out
	Takes    time.Duration                // how long every write takes
	Unserved map[schema.GroupKind]bool    // kinds that are not served
	Polls    bool                         // watching is refused: objects are read again and again instead
	Dies     int                          // die at this change, counted from 1: it is stored, its answer is lost
	Wrote    []string                     // every change that was stored: method and object
	Asked    [][]object.Ref               // what each Read asked for
	Logs     map[object.Ref][]string      // the logs of pods
	Surveys  []cluster.Survey             // every survey that was asked for

	mu       sync.Mutex
	objects  map[object.Ref]*unstructured.Unstructured
	history  []cluster.Sighting
	version  int
	read     int // the version at the latest Read
	dead     bool
	refusal  error // what every write and deletion answers; nil carries them out
	flying   int
	most     int // the largest number of writes at once
	watchers []*watcher
}

// Put places an object into the cluster as it is, without a write being counted.
func (c *Cluster) Put(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(obj.DeepCopy(), true)
}

// Object is a copy of an object as it is now, nil if there is none.
func (c *Cluster) Object(ref object.Ref) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[ref] == nil {
		return nil
	}
	return c.objects[ref].DeepCopy()
}

// Refs is the set of all objects that exist.
func (c *Cluster) Refs() *object.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs := object.NewSet()
	for ref := range c.objects {
		refs.Insert(ref)
	}
	return refs
}

// Most is the largest number of writes that were under way at once.
func (c *Cluster) Most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// Kill makes every call fail from now on, as for a client that is gone.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// Refuse has every write and deletion answer an error from now on; nil carries them out again.
func (c *Cluster) Refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = err
}

// Revive undoes Kill and Dies: a new client finds everything as the old one left it.
func (c *Cluster) Revive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead, c.Dies, c.Wrote = false, 0, nil
}

// Read gives the live objects among the targets.
func (c *Cluster) Read(_ context.Context, targets []cluster.Target) (*cluster.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, ErrDead
	}
	c.read = c.version
	asked := make([]object.Ref, len(targets))
	for i, target := range targets {
		asked[i] = target.Ref
	}
	c.Asked = append(c.Asked, asked)
	snapshot := &cluster.Snapshot{Objects: map[object.Ref]*unstructured.Unstructured{}, Unserved: object.NewSet()}
	for _, target := range targets {
		switch obj := c.objects[target.Ref]; {
		case c.Unserved[target.GroupKind()]:
			snapshot.Unserved.Insert(target.Ref)
		case obj != nil:
			snapshot.Objects[target.Ref] = obj.DeepCopy()
		}
	}
	return snapshot, nil
}

// Kind knows no kind: that of an object says all that counts here.
func (c *Cluster) Kind(_ context.Context, gk schema.GroupKind) (cluster.Kind, error) {
	return cluster.Kind{}, &cluster.UnknownKindError{GroupKind: gk}
}

// List gives the objects of a kind in a namespace, or in all, that carry all of these labels, sorted by name.
func (c *Cluster) List(_ context.Context, gk schema.GroupKind, namespace string, with map[string]string) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, ErrDead
	}
	var found []*unstructured.Unstructured
	for ref, obj := range c.objects {
		in := namespace == "" || ref.Namespace == namespace
		if ref.GroupKind() == gk && in && labels.SelectorFromSet(with).Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found, nil
}

// Write stores one object.
func (c *Cluster) Write(_ context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	ref := object.RefOf(w.Object)
	if err := c.enter(ref); err != nil {
		return nil, err
	}
	defer c.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.next(ref, w)
	if err != nil || w.DryRun {
		return next, err
	}
	stored := c.store(next, w.Subresource == "")
	c.script(ref, stored.GetUID())
	return stored.DeepCopy(), c.count(string(w.Method), ref)
}

// Delete removes one object, at once or after it has lingered.
func (c *Cluster) Delete(_ context.Context, d cluster.Delete) (bool, error) {
	if err := c.enter(d.Ref); err != nil {
		return false, err
	}
	defer c.leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := c.objects[d.Ref]
	switch {
	case obj == nil:
		return true, nil
	case d.UID != "" && obj.GetUID() != d.UID:
		return false, apierrors.NewConflict(resourceOf(d.Ref), d.Ref.Name, errors.New("the UID is another"))
	case d.Version != "" && obj.GetResourceVersion() != d.Version:
		return false, apierrors.NewConflict(resourceOf(d.Ref), d.Ref.Name, errors.New("the object has been modified"))
	case d.DryRun:
		return false, nil
	}
	if wait := c.Lingers[d.Ref]; wait > 0 {
		c.later(d.Ref, obj.GetUID(), Change{After: wait, Gone: true})
	} else {
		c.remove(d.Ref)
	}
	return false, c.count("delete", d.Ref)
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
	c.mu.Unlock()
	time.Sleep(c.Takes)
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

// next is the object that a write makes, not yet stored.
func (c *Cluster) next(ref object.Ref, w cluster.Write) (*unstructured.Unstructured, error) {
	live := c.objects[ref]
	switch {
	case c.dead:
		return nil, ErrDead
	case w.Method == cluster.Create && live != nil:
		return nil, apierrors.NewAlreadyExists(resourceOf(ref), ref.Name)
	case w.Method == cluster.Create || w.Method == cluster.Apply && live == nil:
		return w.Object.DeepCopy(), nil
	case live == nil:
		return nil, apierrors.NewNotFound(resourceOf(ref), ref.Name)
	case w.Method == cluster.Patch:
		return patched(live, w.Patch)
	case w.Method == cluster.Replace && w.Object.GetResourceVersion() != live.GetResourceVersion():
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name, errors.New("the object has been modified"))
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

// patched applies a patch as a JSON merge, which is what the patches of tests are.
func patched(live *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	before, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	return next, next.UnmarshalJSON(after)
}

// store puts an object in, with a new version, a new generation if it is another than before, and a UID if it is new, and
// tells the watchers.
func (c *Cluster) store(obj *unstructured.Unstructured, changed bool) *unstructured.Unstructured {
	ref := object.RefOf(obj)
	if c.objects == nil {
		c.objects = map[object.Ref]*unstructured.Unstructured{}
	}
	c.version++
	obj.SetResourceVersion(strconv.Itoa(c.version))
	if changed {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	if obj.GroupVersionKind().Group == "apps" { // its controller sees it at once
		status, _ := obj.Object["status"].(map[string]any)
		status = maps.Clone(status)
		if status == nil {
			status = map[string]any{}
		}
		status["observedGeneration"] = obj.GetGeneration()
		obj.Object["status"] = status
	}
	if obj.GetUID() == "" {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", c.version)))
	}
	c.objects[ref] = obj
	c.tell(cluster.Sighting{Ref: ref, Object: obj.DeepCopy()})
	return obj
}

func (c *Cluster) remove(ref object.Ref) {
	c.version++
	delete(c.objects, ref)
	c.tell(cluster.Sighting{Ref: ref, Version: strconv.Itoa(c.version)})
}

func resourceOf(ref object.Ref) schema.GroupResource {
	return schema.GroupResource{Group: ref.Group, Resource: ref.Kind}
}
