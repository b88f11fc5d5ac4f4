package cluster

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// surveyPage is how many objects a survey asks for at once: it meets large ones, pods, and keeps none of them.
const surveyPage = 100

// Query says which objects are to be reported: those of one kind in one namespace that match the selectors.
type Query struct {
	Kind      schema.GroupKind
	Namespace string
	Labels    string // label selector; empty for all
	Fields    string // field selector; empty for all
	Once      bool   // report what there is, and no changes
}

// WatchQuery reports objects that are not known by name: first those that exist, then Listed, then changes until the context
// ends. Where they may not be read, or the server does not know the kind, Listed with the reason is all that is reported. It
// returns at once; see is called by one goroutine at a time.
func (c *Client) WatchQuery(ctx context.Context, s Query, see func(ObjectEvent)) {
	w := &watcher{client: c, kind: s.Kind, survey: &queryState{Query: s, known: map[object.Ref]bool{}}, see: see, batch: &batch{namespace: s.Namespace}}
	// Nobody waits for this goroutine: it ends with the context.
	go func() {
		kind, err := c.Kind(ctx, s.Kind)
		if err != nil {
			w.listed(err)
			return
		}
		w.batch.resource = kind.Resource
		w.stay(ctx, "")
	}()
}

// queryState is what a watcher knows of its queryState.
type queryState struct {
	Query
	known  map[object.Ref]bool // what was reported to exist
	listed bool
}

// ends reports that nothing more is to be done once all has been listed.
func (s *queryState) ends() bool { return s != nil && s.Once }

// listed says once that all that existed at the beginning of a survey has been reported, or why it could not be.
func (w *watcher) listed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.survey != nil && !w.survey.listed {
		w.survey.listed = true
		w.see(ObjectEvent{Listed: true, Err: err})
	}
}

// refOf is the reference under which an object is reported, if it is to be.
func (w *watcher) refOf(obj *unstructured.Unstructured) (object.Ref, bool) {
	if w.survey == nil {
		ref, ok := w.batch.names[name{obj.GetNamespace(), obj.GetName()}]
		return ref, ok
	}
	return object.RefOf(obj), true
}

// tell reports one sighting. A survey remembers what exists, to tell after a new list what is gone.
func (w *watcher) tell(s ObjectEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.survey == nil:
	case s.Object == nil:
		delete(w.survey.known, s.Ref)
	default:
		w.survey.known[s.Ref] = true
	}
	w.see(s)
}

// expected are the objects that a list should show, or that are gone if it does not.
func (w *watcher) expected() []object.Ref {
	if w.survey == nil {
		return w.refs
	}
	return slices.Collect(maps.Keys(w.survey.known))
}
