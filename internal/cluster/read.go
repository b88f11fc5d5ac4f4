package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/dynamic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/object"
)

// Lists are read in pages, concurrently while the pages are small. The first page has at most
// shortPage objects for each object to read, so that few other objects are read. If the rest of the
// list has more than singleReadRatio objects for each missing one, the missing ones are read one by
// one. The same limits hold for a list of all namespaces, which replaces the lists of more than
// MaxNamespaces.
const (
	pageSize        = 500
	readRequests    = 32           // concurrent batches
	readObjects     = 8 * pageSize // limit of all first pages in progress together
	shortPage       = 10
	singleReadRatio = 20
)

// MaxNamespaces is the largest number of namespaces in which objects of one kind are listed and
// watched one by one. Objects in more are covered by one request for all namespaces.
const MaxNamespaces = 8

// Target names an object to read and the version to read it in. If the version is empty or not
// served yet, it is read in another. Managed fields are half of many objects, so they are read on
// request.
type Target struct {
	object.Ref
	Version       string
	ManagedFields bool
	// Record is set for a record of a set. Nothing is forgotten because of its kind: one that is
	// unknown has no objects, and no definitions are read.
	Record bool
}

// Snapshot is the result of Read. An object that is in neither part does not exist.
type Snapshot struct {
	Objects  map[object.Ref]*unstructured.Unstructured
	Unserved *object.Set // objects of kinds that the server does not serve
	// NoKind are objects of kinds that have no definition, that had none before LearnKind, or that
	// have another scope than the objects: they do not exist. The others of Unserved may exist.
	NoKind *object.Set
	Broken error // joined errors of groups that the server could not describe
	// Doubts are the reasons why objects of kinds in Unserved, and not in NoKind, may exist.
	Doubts map[schema.GroupKind]error
}

// Check returns an error if objects may exist that the snapshot does not have, because their kinds
// could not be read. What depends on an object that does not exist calls it first.
func (s *Snapshot) Check() error {
	var unread []string
	for _, ref := range s.Unserved.Refs() {
		if !s.NoKind.Has(ref) {
			unread = append(unread, ref.String())
		}
	}
	if len(unread) == 0 {
		return nil
	}
	slices.Sort(unread)
	err := fmt.Errorf("whether these objects exist cannot be found out: %s; try again when the API "+
		"server serves their kinds", strings.Join(unread, ", "))
	for _, gk := range slices.SortedFunc(maps.Keys(s.Doubts), compareKinds) {
		err = fmt.Errorf("%w\nthe kind %s: %w", err, gk, s.Doubts[gk])
	}
	return err
}

// DeniedError reports an object that the user may not read.
type DeniedError struct {
	Ref   object.Ref
	Scope string // the missing permission: "configmaps in namespace demo"
	Cause error  // the server's answer
	// ListCause is the server's answer to a list of objects with Resource, whose version counts; nil
	// if the kind cannot be listed.
	ListCause error
	Resource  schema.GroupVersionResource
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("read %s: %v; it needs the right to get or list %s", e.Ref, e.Cause, e.Scope)
}

func (e *DeniedError) Unwrap() error { return e.Cause }

// Read returns the live objects among the targets. It sends one paginated list for each kind and
// namespace, or for each kind in more than MaxNamespaces. It sends single requests where these are
// fewer bytes or where a list is forbidden. An object that the user may not read is an error and
// never taken for absent. The error names, in the order of the targets, one such object of each
// kind and namespace.
func (c *Client) Read(ctx context.Context, targets []Target) (*Snapshot, error) {
	r := &snapshotReader{
		client: c,
		room:   semaphore.NewWeighted(readObjects),
		denied: map[object.Ref]error{},
		snapshot: &Snapshot{
			Objects:  make(map[object.Ref]*unstructured.Unstructured, len(targets)),
			Unserved: object.NewSet(),
			NoKind:   object.NewSet(),
			Doubts:   map[schema.GroupKind]error{},
		},
	}
	batches, err := c.batches(ctx, targets, r.snapshot)
	if err != nil {
		return nil, err
	}
	// at most twice: objects missing in a list of all namespaces are read in each
	for len(batches) > 0 {
		if err := r.all(ctx, batches); err != nil {
			return nil, err
		}
		batches, r.left = r.left, nil
	}
	var denied []error
	for _, target := range targets {
		if err := r.denied[target.Ref]; err != nil {
			denied = append(denied, err)
		}
	}
	if err := errors.Join(denied...); err != nil {
		return nil, err
	}
	return r.snapshot, nil
}

// snapshotReader collects the results of one Read.
type snapshotReader struct {
	client *Client
	room   *semaphore.Weighted

	mu       sync.Mutex
	snapshot *Snapshot
	left     []*batch
	denied   map[object.Ref]error
}

// all reads batches concurrently.
func (r *snapshotReader) all(ctx context.Context, batches []*batch) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readRequests)
	for _, b := range batches {
		group.Go(func() error {
			defer crash.Catch(ctx)
			if err := r.room.Acquire(ctx, b.firstPage()); err != nil {
				return err
			}
			defer r.room.Release(b.firstPage())
			err := r.batch(ctx, b)
			if denied := (*DeniedError)(nil); errors.As(err,
				&denied) { // read on, to report all denied objects together
				r.mu.Lock()
				defer r.mu.Unlock()
				r.denied[denied.Ref], err = err, nil
			}
			return err
		})
	}
	return group.Wait()
}

// keep adds an object to the snapshot. A nil object belongs to a path that is not served.
func (r *snapshotReader) keep(ref object.Ref, obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if obj == nil {
		r.snapshot.Unserved.Insert(ref)
		return
	}
	r.snapshot.Objects[ref] = obj
}

// batches groups the targets into lists, in their order. Targets of unknown kinds go into the
// snapshot.
func (c *Client) batches(
	ctx context.Context, targets []Target, snapshot *Snapshot,
) ([]*batch, error) {
	var wanted []readItem
	for _, target := range targets {
		kind, err := c.Kind(ctx, target.GroupKind())
		if unknown := (*UnknownKindError)(nil); asUnknown(err, &unknown) {
			c.addUnknown(ctx, snapshot, target, unknown)
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(kind.Served) == 0 {
			snapshot.NoKind.Insert(target.Ref) // unless the server has an earlier definition
			continue
		}
		if !kind.Fits(target.Ref) { // recorded before its definition was created again
			snapshot.Unserved.Insert(target.Ref)
			snapshot.NoKind.Insert(target.Ref)
			continue
		}
		resource := kind.Resource
		resource.Version = kind.readable(target.Version)
		wanted = append(wanted, readItem{resource, target.Ref, target.ManagedFields})
	}
	return groupBatches(wanted, MaxNamespaces), nil
}

// Hide records that objects in NoKind may exist after all, with the reasons by their kinds.
func (s *Snapshot) Hide(doubts map[schema.GroupKind]error) {
	noKind := object.NewSet()
	for _, ref := range s.NoKind.Refs() {
		if doubts[ref.GroupKind()] == nil {
			noKind.Insert(ref)
		} else {
			s.Unserved.Insert(ref)
		}
	}
	s.NoKind = noKind
	if s.Doubts == nil {
		s.Doubts = map[schema.GroupKind]error{}
	}
	maps.Copy(s.Doubts, doubts)
}

// addUnknown adds an object of an unknown kind to a snapshot.
func (c *Client) addUnknown(
	ctx context.Context, s *Snapshot, target Target, unknown *UnknownKindError,
) {
	s.Unserved.Insert(target.Ref)
	gk, doubt := target.GroupKind(), unknown.Cause
	switch {
	case doubt != nil:
		s.Broken = errors.Join(s.Broken, unknown)
	case !target.Record:
		doubt = c.MayExist(ctx, gk)
	}
	if doubt != nil {
		s.Doubts[gk] = doubt
		return
	}
	s.NoKind.Insert(target.Ref)
}

// batch reads the objects of a batch. It defers objects that a list of several namespaces did not
// contain.
func (r *snapshotReader) batch(ctx context.Context, b *batch) error {
	missing, err := r.list(ctx, b)
	switch {
	case isNotServed(err):
		for _, ref := range b.names {
			r.keep(ref, nil)
		}
		return nil
	case apierrors.IsForbidden(err):
		missing, b.listDenied = b.names, err
	case apierrors.IsMethodNotSupported(err):
		missing = b.names
	case err != nil:
		return r.client.explain(fmt.Errorf("list %s: %w", b, err))
	}
	if b.several() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.left = append(r.left, b.divided(missing)...)
		return nil
	}
	return r.each(ctx, b, missing)
}

// each reads objects of a batch one by one.
func (r *snapshotReader) each(ctx context.Context, b *batch, missing map[name]object.Ref) error {
	for _, n := range slices.SortedFunc(maps.Keys(missing), compareNames) {
		ref := missing[n]
		obj, err := getWithRetry(ctx, r.client, func() (*unstructured.Unstructured, error) {
			return r.client.of(b.resource, b.namespace, b.managedFields).Get(
				ctx, ref.Name, metav1.GetOptions{},
			)
		})
		if isNotServed(err) {
			r.keep(ref, nil)
			continue
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if apierrors.IsForbidden(err) {
			return &DeniedError{
				Ref: ref, Scope: b.String(), Cause: err, ListCause: b.listDenied, Resource: b.resource,
			}
		}
		if err != nil {
			return r.client.explain(fmt.Errorf("read %s: %w", ref, err))
		}
		r.keep(ref, obj)
	}
	return nil
}

// list pages through the list of a batch and returns the objects that are cheaper to read one by
// one.
func (r *snapshotReader) list(ctx context.Context, b *batch) (map[name]object.Ref, error) {
	c := r.client
	options := metav1.ListOptions{}
	if len(b.names) == 1 {
		for n := range b.names {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", n.name).String()
		}
	}
	var missing, single map[name]object.Ref
	var found []*unstructured.Unstructured
	err := eachPage(b.firstPage(), func(token string, size int64) (next string, err error) {
		if options.Continue, options.Limit = token, size; token != "" {
			options.Limit = pageSize
		}
		list, err := getWithRetry(ctx, c, func() (*unstructured.UnstructuredList, error) {
			return c.of(b.resource, b.namespace, b.managedFields).List(ctx, options)
		})
		if err != nil {
			return "", err
		}
		if token == "" {
			missing, found = maps.Clone(b.names), nil
			c.recordList(
				b.resource.GroupResource(), list.GetResourceVersion(), maps.Values(b.names),
			)
		}
		for i := range list.Items {
			n := name{list.Items[i].GetNamespace(), list.Items[i].GetName()}
			if _, ok := missing[n]; ok {
				delete(missing, n)
				found = append(found, &list.Items[i])
			}
		}
		if rest := list.GetRemainingItemCount(); rest != nil && list.GetContinue() != "" &&
			*rest > int64(singleReadRatio*len(missing)) {
			single = missing
			return "", nil
		}
		if len(missing) == 0 {
			return "", nil
		}
		return list.GetContinue(), nil
	})
	if err != nil {
		return nil, err
	}
	for _, obj := range found {
		r.keep(b.names[name{obj.GetNamespace(), obj.GetName()}], obj)
	}
	return single, nil
}

// AnyValue stands for all values of a label.
const AnyValue = "*"

// LabelSelector returns the selector of objects that carry all of these labels.
func LabelSelector(with map[string]string) labels.Selector {
	equal, exist := labels.Set{}, labels.NewSelector()
	for key, value := range with {
		if value != AnyValue {
			equal[key] = value
		} else if r, err := labels.NewRequirement(key, selection.Exists, nil); err == nil {
			exist = exist.Add(*r) // a key that is invalid selects nothing less
		}
	}
	requirements, _ := equal.AsSelector().Requirements()
	return exist.Add(requirements...)
}

// List returns the objects of a kind that carry all of these labels, in one namespace or, if that
// is empty, in all. The value of a label may be AnyValue.
func (c *Client) List(
	ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
) ([]*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, gk)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: LabelSelector(with).String()}
	err = eachPage(pageSize, func(token string, size int64) (next string, err error) {
		options.Continue, options.Limit = token, size
		list, err := getWithRetry(ctx, c, func() (*unstructured.UnstructuredList, error) {
			return c.of(kind.Resource, namespace, false).List(ctx, options)
		})
		if err != nil {
			return "", err
		}
		if token == "" {
			found = nil
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		return list.GetContinue(), nil
	})
	if err != nil {
		return nil, c.explain(fmt.Errorf("list %s: %w", kind.Resource.GroupResource(), err))
	}
	return found, nil
}

// of returns the client of a resource, with or without managed fields. It repeats no request.
func (c *Client) of(
	resource schema.GroupVersionResource, namespace string, managedFields bool,
) dynamic.ResourceInterface {
	if managedFields {
		return scoped(c.withManagedFields, resource, namespace)
	}
	return scoped(c.withoutManagedFields, resource, namespace)
}

func scoped(
	client dynamic.Interface, resource schema.GroupVersionResource, namespace string,
) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(resource)
	}
	return client.Resource(resource).Namespace(namespace)
}
