package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// selectConcurrency is how many lists are asked for at once.
const selectConcurrency = 16

// Selection says which objects are looked for, whatever their names: those that carry labels.
type Selection struct {
	Selector      string                                  // label selector
	Kinds         []schema.GroupKind                      // those that are looked through; nil for all, and what is not served is passed over
	Versions      map[schema.GroupKind]string             // in which objects are wanted; the server's preferred one where nothing is said
	Fallback      []string                                // namespaces to look through where neither all can be listed at once nor their names
	OnlyFallback  bool                                    // look through no other namespaces, and do not try
	ManagedFields bool                                    // keep who owns which field
	Ignore        func(schema.GroupVersion) bool          // versions whose lists may fail; nil for none
	WantedVersion func(*unstructured.Unstructured) string // the API version in which an object is wanted, or ""; nil for any
	Report        func(text string)                       // takes what the user may want to know; called by one goroutine at a time; may be nil
	Unlisted      func(UnlistedKind)                      // takes kinds of which there may be more objects than were found; as Told
}

// ListError says that objects of one kind could not be listed.
type ListError struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	Cause      error
}

func (e *ListError) Error() string {
	return fmt.Sprintf("list %s: %v", e.Resource.GroupResource(), e.Cause)
}

func (e *ListError) Unwrap() error { return e.Cause }

// Select gives the objects that a selector selects, sorted by kind, with one paginated list for each kind, in one version. A
// kind that may not be listed in all namespaces is listed in each, and passed over where that is not allowed either, as is one
// without namespaces. Its error is a *ListError where a list fails in another way. Objects that are wanted in another version
// than they were listed in are listed once more. An object that is served as several kinds is given once: in the version in which
// it is wanted, or else in the lexically first one.
func (c *Client) Select(ctx context.Context, s Selection) ([]*unstructured.Unstructured, error) {
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the label selector: %w", err)
	}
	kinds, err := c.selected(ctx, s)
	if err != nil {
		return nil, err
	}
	search := &selection{Selection: s, client: c, selector: selector, slots: make(chan struct{}, selectConcurrency)}
	for _, gk := range c.undescribed(s.Kinds) {
		search.miss(UnlistedKind{GroupKind: gk})
	}
	found, err := search.all(ctx, kinds)
	if err != nil {
		return nil, err
	}
	if err := search.reform(ctx, found); err != nil {
		return nil, err
	}
	return search.once(found), nil
}

// selectedKind is one kind that is looked through, in one version.
type selectedKind struct {
	schema.GroupKind
	resource   schema.GroupVersionResource
	namespaced bool
}

// selected gives the kinds that are looked through.
func (c *Client) selected(ctx context.Context, s Selection) ([]selectedKind, error) {
	listable, _, err := c.ListableKinds(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[schema.GroupKind]bool, len(s.Kinds))
	for _, gk := range s.Kinds {
		wanted[gk] = true
	}
	var kinds []selectedKind
	for _, l := range listable {
		if s.Kinds != nil && !wanted[l.GroupKind] {
			continue
		}
		kind, err := c.Kind(ctx, l.GroupKind)
		if err != nil {
			return nil, err
		}
		resource := kind.Resource
		resource.Version = kind.readable(s.Versions[l.GroupKind])
		kinds = append(kinds, selectedKind{l.GroupKind, resource, kind.Namespaced})
	}
	return kinds, nil
}

// selection is one Select.
type selection struct {
	Selection
	client   *Client
	selector labels.Selector
	slots    chan struct{} // holds one for each request that is under way
	telling  sync.Mutex

	naming     sync.Mutex // held while the namespaces are asked for, once
	named      bool
	namespaces []string
}

func (s *selection) tell(text string) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.Report != nil {
		s.Report(text)
	}
}

func (s *selection) miss(missed UnlistedKind) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.Unlisted != nil {
		s.Unlisted(missed)
	}
}

// all gives the objects of all kinds, in the order of the kinds.
func (s *selection) all(ctx context.Context, kinds []selectedKind) ([]*unstructured.Unstructured, error) {
	found := make([][]*unstructured.Unstructured, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		group.Go(func() (err error) {
			found[i], err = s.kind(ctx, kind)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// kind gives the objects of one kind.
func (s *selection) kind(ctx context.Context, k selectedKind) ([]*unstructured.Unstructured, error) {
	found, err := s.reach(ctx, k)
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() == nil && s.ignorable(ctx, k):
		s.tell(fmt.Sprintf("Ignoring group version: %#v: %s", k.resource, err))
		s.miss(UnlistedKind{GroupKind: k.GroupKind})
		return nil, nil
	default:
		return nil, &ListError{Resource: k.resource, Namespaced: k.namespaced, Cause: s.client.explain(err)}
	}
}

// ignorable reports whether a kind may fail: it may in every version, since that in which it is listed need not be that in which
// its objects were deployed.
func (s *selection) ignorable(ctx context.Context, k selectedKind) bool {
	kind, err := s.client.Kind(ctx, k.GroupKind)
	return err == nil && s.Ignore != nil && !slices.ContainsFunc(kind.Served, func(version string) bool {
		return !s.Ignore(schema.GroupVersion{Group: k.Group, Version: version})
	})
}

// reach lists a kind in all namespaces at once, or else in each of those that can be reached.
func (s *selection) reach(ctx context.Context, k selectedKind) ([]*unstructured.Unstructured, error) {
	if k.namespaced && s.OnlyFallback {
		return s.each(ctx, k, s.Fallback)
	}
	found, err := s.list(ctx, k, "")
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	if !k.namespaced {
		s.miss(UnlistedKind{GroupKind: k.GroupKind, Forbidden: true})
		return nil, nil
	}
	namespaces, err := s.reachable(ctx)
	if err != nil {
		return nil, err
	}
	return s.each(ctx, k, namespaces)
}

// each lists a kind in these namespaces, and passes over those where that is not allowed.
func (s *selection) each(ctx context.Context, k selectedKind, namespaces []string) ([]*unstructured.Unstructured, error) {
	found, denied := make([][]*unstructured.Unstructured, len(namespaces)), make([]string, len(namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(selectConcurrency)
	for i, namespace := range namespaces {
		group.Go(func() (err error) {
			if found[i], err = s.list(ctx, k, namespace); apierrors.IsForbidden(err) {
				denied[i] = namespace
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	denied = slices.DeleteFunc(denied, func(namespace string) bool { return namespace == "" })
	if all := len(denied) == len(namespaces); all || len(denied) > 0 || s.OnlyFallback {
		s.miss(UnlistedKind{k.GroupKind, denied, all})
	}
	return slices.Concat(found...), err
}

// reachable gives the namespaces that are looked through one by one: all, or those of the fallback if they may not be listed.
func (s *selection) reachable(ctx context.Context) ([]string, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.named {
		return s.namespaces, nil
	}
	names, err := s.client.listNames(ctx, "/api/v1/namespaces")
	switch {
	case apierrors.IsForbidden(err):
		names = s.Fallback
	case err != nil:
		return nil, err
	default:
		s.tell("Falling back to checking each namespace separately (much slower)")
	}
	s.named, s.namespaces = true, names
	return names, nil
}

// list gives the objects of one kind in one namespace, or in all if that is empty. Where the kind is not served (any more) there
// are none.
func (s *selection) list(ctx context.Context, k selectedKind, namespace string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	version, options := "", metav1.ListOptions{Limit: pageSize, LabelSelector: s.selector.String()}
	for {
		page, err := s.page(ctx, k, namespace, options)
		switch {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			found, options.Limit, options.Continue = nil, 0, "" // in one piece, since it changes too fast for pages
			continue
		case err != nil:
			return nil, err
		case page == nil:
			return nil, nil
		}
		if options.Continue == "" {
			version = page.GetResourceVersion()
		}
		for i := range page.Items {
			obj := &page.Items[i]
			if !s.selector.Matches(labels.Set(obj.GetLabels())) {
				continue // aggregated APIs may not care about selectors
			}
			found = append(found, obj)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	s.client.recordList(k.resource.GroupResource(), version, func(yield func(object.Ref) bool) {
		for _, obj := range found {
			if !yield(object.RefOf(obj)) {
				return
			}
		}
	})
	return found, nil
}

// page sends one request as soon as there are not too many. It gives nil if the kind is not served.
func (s *selection) page(ctx context.Context, k selectedKind, namespace string, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	page, err := getWithRetry(ctx, s.client, func() (*unstructured.UnstructuredList, error) {
		return s.client.of(k.resource, namespace, s.ManagedFields).List(ctx, options)
	})
	if isNotServed(err) {
		return nil, nil
	}
	return page, err
}
