// Package enginetest is an API server in memory for tests of the engine: it keeps objects, changes
// their status by a script as controllers would, and can fail, or die, at any write. Its delays are
// real time; tests run it under testing/synctest.
//
// TestContract holds its answers to those of a server. It validates metadata alone, converts no
// objects between versions, and merges no keyed lists of custom kinds: the latter are errors.
package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/openapi"
)

// ErrDead is the error of requests to a server that died, or of a client that did.
var ErrDead = errors.New("connection lost")

// Change is an event in the life of an object some time after it was written.
type Change struct {
	After  time.Duration
	Status map[string]any             // replaces the status; the observed generation is set as well
	Gone   bool                       // another client deletes the object
	Again  bool                       // another client deletes and recreates the object
	Makes  *unstructured.Unstructured // a controller creates or updates this object; no other change
}

// Cluster is a simulated API server. Its exported fields are set before it is used.
type Cluster struct {
	Script map[object.Ref][]Change // changes by controllers after each write of an object
	// time from deletion to removal; by default 0 without finalizers
	Lingers map[object.Ref]time.Duration
	// Rewrites are how long after each deletion of an object a controller creates it once more with
	// nothing but its name, as one does that applies fields of an object that it still remembers.
	Rewrites map[object.Ref][]time.Duration
	Fails    map[object.Ref]error   // errors of writes and deletions
	Answers  map[object.Ref][]error // results of the next writes, in order; nil stores the write
	Takes    time.Duration          // duration of a write
	Ahead    time.Duration          // how far the clock of the server is ahead
	// limit of concurrent writes; others get a retry-after of 1s; 0 is none
	TooMuch  int
	Slow     map[object.Ref]time.Duration // additional duration of the writes of an object
	Unserved map[schema.GroupKind]bool    // kinds that are not served
	NoKind   map[schema.GroupKind]bool    // kinds that the server does not have
	Hidden   map[schema.GroupKind]error   // kinds that may have objects although they are not served
	Polls    bool                         // watches are refused: objects are polled
	Silent   bool                         // watches report nothing
	Unseen   func() error                 // what watches report instead of changes, polling
	Collects bool                         // a garbage collector deletes what has no owner any more
	Dies     int                          // change, counted from 1, that is stored but not answered
	Wrote    []string                     // stored changes: method and object
	Asked    [][]object.Ref               // arguments of each Read
	Logs     map[object.Ref][]string      // the logs of pods
	// Stores changes, in place, what a write stores, as a server does that drops values; may be nil
	Stores func(*unstructured.Unstructured)
	// Refuses returns why the server refuses a write; nil carries it out. It may be nil.
	Refuses func(cluster.Write) error
	// Publishes is how long the server takes to publish the schemas of a definition it has stored.
	Publishes time.Duration
	// Unpublished are the errors of the next requests for what is published, in order; nil is none.
	Unpublished []error
	Queries     []cluster.Query // all queries
	Watched     [][]object.Ref  // arguments of each Watch
	Sent        []cluster.Write // all writes, successful or not

	Kinds  map[schema.GroupKind]cluster.Kind // the kinds that Select knows; see Serve
	Broken map[schema.GroupVersion]error     // group versions that the server cannot describe
	// namespaces that cannot list a kind; see Everywhere
	Unlistable   map[schema.GroupKind][]string
	ListFails    map[schema.GroupKind]error // errors of lists of Select and ListMetadata
	Unreadable   map[object.Ref]error       // objects that Read may not read, and why
	Denied       map[string]bool            // what Allowed denies, see there
	Discovers    func()                     // called by Rediscover; may be nil
	Rediscovered int                        // how often Rediscover was called
	Selections   []cluster.Selection        // every selection of Select

	mu        sync.Mutex
	objects   map[object.Ref]*unstructured.Unstructured
	history   []cluster.ObjectEvent
	version   int
	read      map[object.Ref]int // versions at which objects were read last
	dead      bool
	inside    int // writes that the server has let in
	throttled int64
	refusal   error // what every write and deletion answers; nil carries them out
	flying    int
	most      int                                       // the largest number of writes at once
	outdated  string                                    // the schemas that are published until then
	documents map[schema.GroupVersion]*openapi.Document // the same
	published time.Time                                 // when the last definition is published
	watchers  []*watcher
}

// Put stores an object without counting a write.
func (c *Cluster) Put(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(obj.DeepCopy())
}

// Remove takes an object out of the cluster, without a deletion being counted.
func (c *Cluster) Remove(ref object.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(ref)
}

// Object returns a copy of an object, nil if there is none.
func (c *Cluster) Object(ref object.Ref) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[ref] == nil {
		return nil
	}
	return c.objects[ref].DeepCopy()
}

// Refs returns the set of all objects.
func (c *Cluster) Refs() *object.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs := object.NewSet()
	for ref := range c.objects {
		refs.Insert(ref)
	}
	return refs
}

// Most returns the largest number of concurrent writes.
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

// Refuse sets the error of all further writes and deletions; nil for none.
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

// Read returns the live objects among the targets.
func (c *Cluster) Read(_ context.Context, targets []cluster.Target) (*cluster.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, ErrDead
	}
	if c.read == nil {
		c.read = map[object.Ref]int{}
	}
	asked := make([]object.Ref, len(targets))
	for i, target := range targets {
		asked[i], c.read[target.Ref] = target.Ref, c.version
	}
	c.Asked = append(c.Asked, asked)
	snapshot := &cluster.Snapshot{
		Objects:  map[object.Ref]*unstructured.Unstructured{},
		Unserved: object.NewSet(),
		NoKind:   object.NewSet(),
	}
	for _, target := range targets {
		if err := c.Unreadable[target.Ref]; err != nil {
			return nil, &cluster.DeniedError{Ref: target.Ref, Cause: err}
		}
		switch obj := c.objects[target.Ref]; {
		case c.Unserved[target.GroupKind()]:
			snapshot.Unserved.Insert(target.Ref)
		case c.NoKind[target.GroupKind()]:
			snapshot.Unserved.Insert(target.Ref)
			snapshot.NoKind.Insert(target.Ref)
		case obj != nil:
			if err := convertible(obj, target.Version); err != nil {
				return nil, err
			}
			snapshot.Objects[target.Ref] = obj.DeepCopy()
		}
	}
	return snapshot, nil
}

// List returns the objects of a kind in a namespace, or in all, that have the labels, sorted by
// namespace and name.
func (c *Cluster) List(
	_ context.Context, gk schema.GroupKind, namespace string, with map[string]string,
) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, ErrDead
	}
	var found []*unstructured.Unstructured
	for ref, obj := range c.objects {
		in := namespace == "" || ref.Namespace == namespace
		if ref.GroupKind() == gk && in &&
			cluster.LabelSelector(with).Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj.DeepCopy())
		}
	}
	slices.SortFunc(found,
		func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()),
				cmp.Compare(a.GetName(), b.GetName()))
		})
	return found, nil
}

// ListMetadata returns the metadata of the objects that List returns, or the error of
// Cluster.ListFails.
func (c *Cluster) ListMetadata(
	ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
) ([]metav1.ObjectMeta, error) {
	if err := c.ListFails[gk]; err != nil {
		return nil, err
	}
	objects, err := c.List(ctx, gk, namespace, with)
	found := make([]metav1.ObjectMeta, len(objects))
	for i, obj := range objects {
		found[i] = metav1.ObjectMeta{
			Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
			Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
			ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
		}
	}
	return found, err
}

// ListSecretMetadata returns what ListMetadata does of the Secrets of a type.
func (c *Cluster) ListSecretMetadata(
	ctx context.Context, secretType, namespace string, with map[string]string,
) ([]metav1.ObjectMeta, error) {
	found, err := c.ListMetadata(ctx, schema.GroupKind{Kind: "Secret"}, namespace, with)
	return slices.DeleteFunc(found, func(m metav1.ObjectMeta) bool {
		ref := object.Ref{Kind: "Secret", Namespace: m.Namespace, Name: m.Name}
		obj := c.Object(ref)
		return obj == nil || obj.Object["type"] != secretType
	}), err
}

// put stores an object of Put, or of a controller, with a new generation if it is another than
// before.
func (c *Cluster) put(obj *unstructured.Unstructured) {
	if live := c.objects[object.RefOf(obj)]; live == nil || contentDiffers(live, obj, true) {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	c.store(obj)
}

// store puts an object in, with a new version, and a UID if it is new, and notifies the watchers.
func (c *Cluster) store(obj *unstructured.Unstructured) *unstructured.Unstructured {
	ref := object.RefOf(obj)
	if c.objects == nil {
		c.objects = map[object.Ref]*unstructured.Unstructured{}
	}
	obj.SetResourceVersion(c.nextVersion())
	if ref.Group == "apps" && !ungenerated[ref.GroupKind()] { // its controller sees it at once
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
	c.tell(cluster.ObjectEvent{Ref: ref, Object: obj.DeepCopy()})
	return obj
}

// nextVersion increments the resource version. The first is that of an empty etcd, which no object
// has.
func (c *Cluster) nextVersion() string {
	c.version = max(c.version, 1) + 1
	return strconv.Itoa(c.version)
}

// remove takes an object out and, if the cluster has a garbage collector, those that only it owned.
// The objects of a kind go with its definition.
func (c *Cluster) remove(ref object.Ref) {
	removed := c.objects[ref]
	delete(c.objects, ref)
	c.tell(cluster.ObjectEvent{Ref: ref, Version: c.nextVersion()})
	if removed == nil {
		return
	}
	c.collect(removed.GetUID(), removed.GetOwnerReferences())
	if removed.GetKind() != "CustomResourceDefinition" {
		return
	}
	group, _, _ := unstructured.NestedString(removed.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(removed.Object, "spec", "names", "kind")
	for other := range c.objects {
		if other.Group == group && other.Kind == kind {
			c.remove(other)
		}
	}
}

// PublishedSchemas returns the schemas of the definitions of a group; those from before the last
// write of a definition until that is published.
func (c *Cluster) PublishedSchemas(_ context.Context, group string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused error
	if len(c.Unpublished) > 0 {
		refused, c.Unpublished = c.Unpublished[0], c.Unpublished[1:]
	}
	switch {
	case c.dead:
		return "", ErrDead
	case refused != nil:
		return "", refused
	case time.Now().Before(c.published):
		return c.outdated, nil
	}
	return c.schemas(group), nil
}

// Schemas returns the documents of group versions that the stored definitions have; of definitions
// that are not published yet, those from before the last write of one.
func (c *Cluster) Schemas(
	_ context.Context, versions []schema.GroupVersion,
) (map[schema.GroupVersion]*openapi.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, ErrDead
	}
	published := c.documents
	if !time.Now().Before(c.published) {
		published = c.documentsOf()
	}
	found := map[schema.GroupVersion]*openapi.Document{}
	for _, gv := range versions {
		if document := published[gv]; document != nil {
			found[gv] = document
		}
	}
	return found, nil
}

// documentsOf returns the documents of the stored definitions. Of several kinds of a version it has
// one.
func (c *Cluster) documentsOf() map[schema.GroupVersion]*openapi.Document {
	found := map[schema.GroupVersion]*openapi.Document{}
	for ref, obj := range c.objects {
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		if ref.Kind != "CustomResourceDefinition" {
			continue
		}
		for version, document := range openapi.Definition(obj.Object, builtin.MetadataFields()) {
			found[schema.GroupVersion{Group: group, Version: version}] = document
		}
	}
	return found
}

// schemas returns the schemas of the stored definitions of a group.
func (c *Cluster) schemas(group string) string {
	var found []string
	for ref, obj := range c.objects {
		of, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		if ref.Kind == "CustomResourceDefinition" && of == group {
			found = append(found, fmt.Sprint(obj.Object["spec"]))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}
