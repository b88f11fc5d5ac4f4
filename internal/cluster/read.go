package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/muster-deploy/muster/internal/object"
)

// Reading is done in pages, by many requests at once if what they bring is little. When the rest of a list is this many times
// longer than what is still missing, the missing objects are asked for one by one. The first page is not longer than that
// either, so that little is read in vain where there is much of others.
const (
	pageSize     = 500
	readRequests = 32           // at once, at most
	readObjects  = 8 * pageSize // in the first pages that are under way at once
	crowded      = 20
)

// Target names an object to read, in the version in which it is wanted. For an empty version, or one that is not served yet,
// it is read in another. Who owns which of its fields is read along only where that is said, since it is half of many objects.
type Target struct {
	object.Ref
	Version string
	Owners  bool
}

// Snapshot is what Read found. An object that is in neither part does not exist.
type Snapshot struct {
	Objects  map[object.Ref]*unstructured.Unstructured
	Unserved *object.Set // objects of kinds that the server does not know, so that nothing can be said of them
	Broken   error       // why the server could not describe kinds that it may know, joined; nil if it described all
}

// DeniedError says that an object may not be read.
type DeniedError struct {
	Ref   object.Ref
	Scope string // what there has to be a right to: "configmaps in namespace demo"
	Cause error  // the server's words
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("read %s: %v; it needs the right to get or list %s", e.Ref, e.Cause, e.Scope)
}

func (e *DeniedError) Unwrap() error { return e.Cause }

// batch is the objects of one namespace, or of one kind without, that one list or watch covers, in one version.
type batch struct {
	resource  schema.GroupVersionResource
	namespace string
	names     map[string]object.Ref
	owners    bool // keep the managed fields
}

// Read gives the live objects among the targets, with one paginated list for each kind and namespace, or by single requests
// where those are fewer bytes or a list is not allowed. What may not be read is an error, never taken for absent; it names,
// in the order of the targets, one object of each kind and namespace of which that is so.
func (c *Client) Read(ctx context.Context, targets []Target) (*Snapshot, error) {
	snapshot := &Snapshot{Objects: make(map[object.Ref]*unstructured.Unstructured, len(targets)), Unserved: object.NewSet()}
	batches, err := c.batches(ctx, targets, snapshot)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	keep := func(ref object.Ref, obj *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		if obj == nil {
			snapshot.Unserved.Insert(ref)
			return
		}
		snapshot.Objects[ref] = obj
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readRequests)
	room := semaphore.NewWeighted(readObjects)
	denied := make([]error, len(batches))
	for i, b := range batches {
		group.Go(func() error {
			if err := room.Acquire(ctx, b.firstPage()); err != nil {
				return err
			}
			defer room.Release(b.firstPage())
			err := c.readBatch(ctx, b, keep)
			if apierrors.IsForbidden(err) {
				denied[i], err = err, nil // the others may be as well, which is better known at once
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := errors.Join(denied...); err != nil {
		return nil, err
	}
	return snapshot, nil
}

// batches sorts the targets by what one list can answer, in the order in which they come. Those of unknown kinds go into
// the snapshot.
func (c *Client) batches(ctx context.Context, targets []Target, snapshot *Snapshot) ([]*batch, error) {
	type key struct {
		resource  schema.GroupVersionResource
		namespace string
	}
	var order []*batch
	found := map[key]*batch{}
	for _, target := range targets {
		kind, err := c.Kind(ctx, target.GroupKind())
		if unknown := (*UnknownKindError)(nil); asUnknown(err, &unknown) {
			snapshot.Unserved.Insert(target.Ref)
			if unknown.Cause != nil {
				snapshot.Broken = errors.Join(snapshot.Broken, unknown)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(kind.Served) == 0 {
			continue // only just being defined: none of its objects can exist
		}
		resource := kind.Resource
		resource.Version = kind.readable(target.Version)
		k := key{resource, target.Namespace}
		if found[k] == nil {
			found[k] = &batch{resource: resource, namespace: target.Namespace, names: map[string]object.Ref{}}
			order = append(order, found[k])
		}
		found[k].names[target.Name] = target.Ref
		found[k].owners = found[k].owners || target.Owners
	}
	return order, nil
}

// readBatch hands every object that exists to keep, and nil for each of which nothing can be said because the path is not
// served (any more).
func (c *Client) readBatch(ctx context.Context, b *batch, keep func(object.Ref, *unstructured.Unstructured)) error {
	missing, err := c.readList(ctx, b, keep)
	switch {
	case unserved(err):
		for _, ref := range b.names {
			keep(ref, nil)
		}
		return nil
	case apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err):
		missing = b.names
	case err != nil:
		return c.explain(fmt.Errorf("list %s: %w", b, err))
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		ref := missing[name]
		obj, err := asked(ctx, c, func() (*unstructured.Unstructured, error) {
			return c.of(b.resource, b.namespace, b.owners).Get(ctx, name, metav1.GetOptions{})
		})
		if unserved(err) {
			keep(ref, nil)
			continue
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsForbidden(err) {
			return &DeniedError{Ref: ref, Scope: b.String(), Cause: err}
		}
		if err != nil {
			return c.explain(fmt.Errorf("read %s: %w", ref, err))
		}
		keep(ref, obj)
	}
	return nil
}

// readList pages through the scope of a batch and gives the objects that are better asked for one by one.
func (c *Client) readList(ctx context.Context, b *batch, keep func(object.Ref, *unstructured.Unstructured)) (map[string]object.Ref, error) {
	options := metav1.ListOptions{Limit: b.firstPage()}
	if len(b.names) == 1 {
		for name := range b.names {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}
	}
	seen := map[string]bool{}
	for {
		list, err := asked(ctx, c, func() (*unstructured.UnstructuredList, error) {
			return c.of(b.resource, b.namespace, b.owners).List(ctx, options)
		})
		if err != nil {
			return nil, err
		}
		if options.Continue == "" {
			c.remember(b.resource.GroupResource(), list.GetResourceVersion(), maps.Values(b.names))
		}
		for i := range list.Items {
			if ref, ok := b.names[list.Items[i].GetName()]; ok {
				seen[ref.Name] = true
				keep(ref, &list.Items[i])
			}
		}
		if list.GetContinue() == "" || len(seen) == len(b.names) {
			return nil, nil
		}
		if rest := list.GetRemainingItemCount(); rest != nil && *rest > int64(crowded*(len(b.names)-len(seen))) {
			return without(b.names, seen), nil
		}
		options.Continue, options.Limit = list.GetContinue(), pageSize
	}
}

// List gives the objects of a kind that carry all of these labels, in one namespace or, if that is empty, in all.
func (c *Client) List(ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string) ([]*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, gk)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: labels.SelectorFromSet(with).String()}
	for {
		list, err := asked(ctx, c, func() (*unstructured.UnstructuredList, error) {
			return c.in(kind.Resource, namespace).List(ctx, options)
		})
		if err != nil {
			return nil, c.explain(fmt.Errorf("list %s: %w", kind.Resource.GroupResource(), err))
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}

func without(names map[string]object.Ref, seen map[string]bool) map[string]object.Ref {
	rest := make(map[string]object.Ref, len(names)-len(seen))
	for name, ref := range names {
		if !seen[name] {
			rest[name] = ref
		}
	}
	return rest
}

// firstPage is how many objects the first page may have.
func (b *batch) firstPage() int64 { return int64(min(pageSize, crowded*len(b.names))) }

func (b *batch) String() string {
	if b.namespace == "" {
		return b.resource.GroupResource().String()
	}
	return fmt.Sprintf("%s in namespace %s", b.resource.GroupResource(), b.namespace)
}

// in is where objects of a resource are, without who owns which of their fields.
func (c *Client) in(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return c.of(resource, namespace, false)
}

// of is where objects of a resource are, with or without who owns which of their fields.
func (c *Client) of(resource schema.GroupVersionResource, namespace string, owners bool) dynamic.ResourceInterface {
	client := c.lean
	if owners {
		client = c.owners
	}
	if namespace == "" {
		return client.Resource(resource)
	}
	return client.Resource(resource).Namespace(namespace)
}
