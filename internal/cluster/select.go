package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// selectConcurrency is the limit of concurrent lists. Most lists are empty and cost little but the
// way to the server and etcd, so there are many. One HTTP/2 connection carries them: API servers
// permit 100 streams.
const selectConcurrency = 64

// Selection says which objects Select finds by their labels.
type Selection struct {
	Selector string // label selector
	// kinds to list; nil for all; kinds that are not served are skipped
	Kinds []schema.GroupKind
	// kinds of which the latest state is needed; nil for all. Lists of other custom resources come
	// from the server's cache, which may be a moment old and costs half as much.
	Latest []schema.GroupKind
	// versions to list in; by default the server's preferred one
	Versions map[schema.GroupKind]string
	// namespaces to list if neither all nor their names can be listed
	Fallback      []string
	OnlyFallback  bool // list these namespaces alone
	ManagedFields bool // read managed fields
	// versions whose lists may fail; nil for none
	Ignore func(schema.GroupVersion) bool
	// returns the API version that an object is wanted in, or ""; nil for any
	WantedVersion func(*unstructured.Unstructured) string
	// receives notices for the user, from one goroutine at a time; may be nil
	Report func(text string)
	// receives kinds that may have more objects; called like Report
	Unlisted func(UnlistedKind)
}

// ListError reports that objects of one kind could not be listed.
type ListError struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	Cause      error
}

func (e *ListError) Error() string {
	return fmt.Sprintf("list %s: %v", e.Resource.GroupResource(), e.Cause)
}

func (e *ListError) Unwrap() error { return e.Cause }

// Select returns the objects that match a label selector, sorted by kind. It sends one paginated
// list for each kind, in one version. A kind that the user may not list in all namespaces is listed
// in each; what may not be listed there either is skipped and reported to Unlisted. Any other
// failure of a list is a *ListError. Objects wanted in another version than they were listed in are
// listed once more. An object that is served as several kinds is returned once: in the wanted
// version, or in the lexically first one.
func (c *Client) Select(ctx context.Context, s Selection) ([]*unstructured.Unstructured, error) {
	matcher, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the label selector: %w", err)
	}
	kinds, err := c.selected(ctx, s)
	if err != nil {
		return nil, err
	}
	call := &selector{
		Selection: s,
		client:    c,
		matcher:   matcher,
		slots:     make(chan struct{}, selectConcurrency),
	}
	for _, missed := range c.hidden(ctx, s.Kinds) {
		call.reportUnlisted(missed)
	}
	found, err := call.all(ctx, kinds)
	if err != nil {
		return nil, err
	}
	if err := call.convert(ctx, found); err != nil {
		return nil, err
	}
	return call.withoutDuplicates(found), nil
}

// selectedKind is one kind to list, in one version.
type selectedKind struct {
	schema.GroupKind
	resource   schema.GroupVersionResource
	namespaced bool
}

// selected returns the kinds to list.
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

// selector is one call of Select.
type selector struct {
	Selection
	client    *Client
	matcher   labels.Selector
	slots     chan struct{} // one for each request in progress
	reporting sync.Mutex

	naming     sync.Mutex // held while the namespaces are read, once
	named      bool
	namespaces []string
}

func (s *selector) report(text string) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	if s.Report != nil {
		s.Report(text)
	}
}

func (s *selector) reportUnlisted(missed UnlistedKind) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	if s.Unlisted != nil {
		s.Unlisted(missed)
	}
}

// all returns the objects of all kinds, in the order of the kinds.
func (s *selector) all(
	ctx context.Context, kinds []selectedKind,
) ([]*unstructured.Unstructured, error) {
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

// kind returns the objects of one kind.
func (s *selector) kind(ctx context.Context, k selectedKind) ([]*unstructured.Unstructured, error) {
	found, err := s.reach(ctx, k)
	if isNotServed(err) {
		found, err = s.reachOther(ctx, k, err)
	}
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() == nil && s.ignorable(ctx, k):
		s.report(ignoring(k, err))
		s.reportUnlisted(UnlistedKind{GroupKind: k.GroupKind, Cause: s.client.explain(err)})
		return nil, nil
	default:
		return nil, s.listError(k, err)
	}
}

// ignoring returns the notice about a kind whose list may fail.
func ignoring(k selectedKind, err error) string {
	return fmt.Sprintf("Ignoring group version: %#v: %s", k.resource, err)
}

// listError returns the error of a list of a kind.
func (s *selector) listError(k selectedKind, err error) error {
	return &ListError{Resource: k.resource, Namespaced: k.namespaced, Cause: s.client.explain(err)}
}

// stalePauses are the pauses in which a server that does not serve a kind is asked again whether it
// has it: for some time after a definition is gone, or comes, its kinds are not those it serves.
var stalePauses = []time.Duration{
	0, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
}

// reachOther lists a kind that the server does not serve in the version that it was said to have,
// in the version that it has now. It returns none if the kind is gone. A kind that is still there
// and cannot be listed is reported as unlisted.
func (s *selector) reachOther(
	ctx context.Context, k selectedKind, unserved error,
) ([]*unstructured.Unstructured, error) {
	for _, pause := range stalePauses {
		if err := pauseBefore(ctx, pause, unserved); err != nil {
			return nil, err
		}
		if err := s.client.Rediscover(ctx); err != nil {
			return nil, err
		}
		if cause := s.client.WhyHidden(ctx, k.GroupKind); cause != nil {
			s.reportUnlisted(UnlistedKind{GroupKind: k.GroupKind, Cause: cause})
			return nil, nil
		}
		kind, err := s.client.Kind(ctx, k.GroupKind)
		if unknown := (*UnknownKindError)(nil); asUnknown(err, &unknown) ||
			err == nil && len(kind.Served) == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		k.resource = kind.Resource
		k.resource.Version = kind.readable(s.Versions[k.GroupKind])
		if found, err := s.reach(ctx, k); !isNotServed(err) {
			return found, err
		}
	}
	s.reportUnlisted(UnlistedKind{GroupKind: k.GroupKind, Cause: unserved})
	return nil, nil
}

// ignorable reports whether lists of a kind may fail. They may if this holds for every served
// version, since objects may have been deployed in another version than they are listed in.
func (s *selector) ignorable(ctx context.Context, k selectedKind) bool {
	kind, err := s.client.Kind(ctx, k.GroupKind)
	return err == nil && s.Ignore != nil &&
		!slices.ContainsFunc(kind.Served, func(version string) bool {
			return !s.Ignore(schema.GroupVersion{Group: k.Group, Version: version})
		})
}

// reach lists a kind in all namespaces at once, or else in each namespace that can be listed.
func (s *selector) reach(
	ctx context.Context, k selectedKind,
) ([]*unstructured.Unstructured, error) {
	if k.namespaced && s.OnlyFallback {
		return s.each(ctx, k, s.Fallback)
	}
	found, err := s.list(ctx, k, "")
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	if !k.namespaced {
		s.reportUnlisted(UnlistedKind{GroupKind: k.GroupKind, Forbidden: true})
		return nil, nil
	}
	namespaces, err := s.reachable(ctx)
	if err != nil {
		return nil, err
	}
	return s.each(ctx, k, namespaces)
}

// each lists a kind in these namespaces and skips those where that is forbidden.
func (s *selector) each(
	ctx context.Context, k selectedKind, namespaces []string,
) ([]*unstructured.Unstructured, error) {
	found := make([][]*unstructured.Unstructured, len(namespaces))
	denied := make([]string, len(namespaces))
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
		s.reportUnlisted(UnlistedKind{GroupKind: k.GroupKind, Namespaces: denied, Forbidden: all})
	}
	return slices.Concat(found...), err
}

// reachable returns the namespaces to list one by one: all, or the fallback if the user may not
// list namespaces.
func (s *selector) reachable(ctx context.Context) ([]string, error) {
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
		s.report("Falling back to checking each namespace separately (much slower)")
	}
	s.named, s.namespaces = true, names
	return names, nil
}

// list returns the objects of one kind in one namespace, or in all if that is empty.
func (s *selector) list(
	ctx context.Context, k selectedKind, namespace string,
) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	version, options := "", metav1.ListOptions{LabelSelector: s.matcher.String()}
	first := int64(pageSize)
	if s.mayBeCached(k.GroupKind) {
		first, options.ResourceVersion = 0, "0"
	}
	err := eachPage(first, func(token string, size int64) (next string, err error) {
		options.Continue, options.Limit = token, size
		page, err := s.page(ctx, k, namespace, options)
		if err != nil {
			return "", err
		}
		if token == "" {
			found, version = nil, page.GetResourceVersion()
		}
		for i := range page.Items {
			obj := &page.Items[i]
			if !s.matcher.Matches(labels.Set(obj.GetLabels())) {
				continue // aggregated APIs may ignore selectors
			}
			found = append(found, obj)
		}
		return page.GetContinue(), nil
	})
	if err != nil {
		return nil, err
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

// mayBeCached reports whether the list of a kind may come from the server's cache.
func (s *selector) mayBeCached(gk schema.GroupKind) bool {
	custom := strings.Contains(gk.Group, ".") && !strings.HasSuffix(gk.Group, ".k8s.io")
	return custom && s.Latest != nil && !slices.Contains(s.Latest, gk)
}

// page reads one page, waiting for a slot.
func (s *selector) page(
	ctx context.Context, k selectedKind, namespace string, options metav1.ListOptions,
) (*unstructured.UnstructuredList, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return getWithRetry(ctx, s.client, func() (*unstructured.UnstructuredList, error) {
		return s.client.of(k.resource, namespace, s.ManagedFields).List(ctx, options)
	})
}
