package cluster

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/object"
)

// queryPage is the page size of a query. Its objects, such as pods, may be large, and none of them
// is kept.
const queryPage = 100

// Query says which objects WatchQuery reports: those of one kind in one namespace that match the
// selectors.
type Query struct {
	Kind      schema.GroupKind
	Namespace string
	Labels    string // label selector; empty for all
	Fields    string // field selector; empty for all
	Once      bool   // report existing objects and no changes
	Relists   bool   // report the success of a list after one that failed
}

// WatchQuery reports objects that are not known by name: first those that exist, then Listed, then
// changes until the context ends. If they cannot be listed at first, it reports Listed with the
// reason, and with Relists once more when they are. If they may not be read or the kind is unknown,
// it reports only Listed with the reason, and ends. It returns at once; handle is called by one
// goroutine at a time.
func (c *Client) WatchQuery(ctx context.Context, s Query, handle func(ObjectEvent)) {
	w := &watcher{
		client: c,
		kind:   s.Kind,
		query:  &queryState{Query: s, known: map[object.Ref]bool{}},
		handle: handle,
		batch:  &batch{namespace: s.Namespace},
	}
	// Nobody waits for this goroutine: it ends with the context.
	go func() {
		defer crash.Catch(ctx)
		kind, err := c.Kind(ctx, s.Kind)
		if err != nil {
			w.listed(err, true)
			return
		}
		w.batch.resource = kind.Resource
		w.watchFrom(ctx, "")
	}()
}

// queryState is the state of a watcher that runs a query.
type queryState struct {
	Query
	known  map[object.Ref]bool // objects reported to exist
	listed bool
	failed bool // a list has failed
}

// ends reports whether the query is over when all objects were listed.
func (s *queryState) ends() bool { return s != nil && s.Once }

// listed reports, once, that a query has reported all objects that existed at its beginning, or why
// it could not; a query that relists reports both. Over means that the query ends.
func (w *watcher) listed(err error, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.query == nil || w.query.listed || err != nil && w.query.failed && !over {
		return
	}
	w.query.listed, w.query.failed = err == nil || !w.query.Relists, true
	w.handle(ObjectEvent{Listed: true, Err: err, Over: over})
}

// refOf returns the reference of an object, and whether the watcher reports it.
func (w *watcher) refOf(obj *unstructured.Unstructured) (object.Ref, bool) {
	if w.query == nil {
		ref, ok := w.batch.names[name{obj.GetNamespace(), obj.GetName()}]
		return ref, ok
	}
	return object.RefOf(obj), true
}

// emit reports one event. A query keeps the references of existing objects, so that it can report
// after a new list which are gone.
func (w *watcher) emit(s ObjectEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.query == nil:
	case s.Object == nil:
		delete(w.query.known, s.Ref)
	default:
		w.query.known[s.Ref] = true
	}
	w.handle(s)
}

// expected returns the objects that are gone if a list does not contain them.
func (w *watcher) expected() []object.Ref {
	if w.query == nil {
		return w.refs
	}
	return slices.Collect(maps.Keys(w.query.known))
}
