package livetree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Options say what a tree shows.
type Options struct {
	Roots []object.Ref
	// Judge returns the status of an object; nil is ready.Of.
	Judge func(*unstructured.Unstructured) ready.Status
	// Unseen receives each list that the server refuses or cannot make; nil ignores them.
	Unseen func(error)
	// Every is how often Watch passes the tree on without a change, as ages grow; 0 is never.
	Every time.Duration
}

// Limits of a watch. Changes often come in groups: those within the pause are passed on together.
const (
	manyNamespaces = 8 // above it, one list is for all namespaces
	pause          = 100 * time.Millisecond
)

// Read returns the tree of the present state.
func Read(ctx context.Context, c cluster.Reader, o Options) ([]*Node, error) {
	var last []*Node
	r := &reader{cluster: c, options: o, once: true}
	err := r.run(ctx, func(nodes []*Node) { last = nodes })
	return last, err
}

// Watch passes the tree to handle: the present state, then after each change, until the context
// ends. It returns the cause of that, or the error of reading the objects of the set.
func Watch(ctx context.Context, c cluster.Reader, o Options, handle func([]*Node)) error {
	return (&reader{cluster: c, options: o}).run(ctx, handle)
}

// reader reads a tree. The goroutine that calls run owns it; those of the watches send it events.
type reader struct {
	cluster cluster.Reader
	options Options
	once    bool

	snapshot *cluster.Snapshot
	tracker  *tracker
	listing  int // queries that have not listed their objects yet
	events   chan queryEvent
}

// queryEvent is an event of a query, or of the watch of an object of the set.
type queryEvent struct {
	cluster.ObjectEvent
	query cluster.Query
}

// run reads the objects of the set, then what they own, and passes trees to handle.
func (r *reader) run(ctx context.Context, handle func([]*Node)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	targets := make([]cluster.Target, len(r.options.Roots))
	for i, ref := range r.options.Roots {
		targets[i].Ref = ref
	}
	var err error
	if r.snapshot, err = r.cluster.Read(ctx, targets); err != nil {
		return fmt.Errorf("read the objects of the set: %w", err)
	}
	r.tracker, r.events = newTracker(r.options), make(chan queryEvent)
	for ref, obj := range r.snapshot.Objects {
		r.tracker.set(ref, obj)
	}
	queries, err := r.queries(ctx)
	if err != nil {
		return err
	}
	for _, query := range queries {
		r.start(ctx, query)
	}
	for r.listing > 0 {
		select {
		case e := <-r.events:
			r.handle(ctx, e)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	handle(r.tracker.tree(r.snapshot))
	if r.once {
		return nil
	}
	r.watchRoots(ctx)
	return r.follow(ctx, handle)
}

// follow passes the tree on after changes, and from time to time, until the context ends.
func (r *reader) follow(ctx context.Context, handle func([]*Node)) error {
	var regular <-chan time.Time
	if r.options.Every > 0 {
		ticker := time.NewTicker(r.options.Every)
		defer ticker.Stop()
		regular = ticker.C
	}
	var due <-chan time.Time
	for {
		select {
		case e := <-r.events:
			r.handle(ctx, e)
			if due == nil {
				due = time.After(pause)
			}
			continue
		case <-due:
			due = nil
		case <-regular:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		handle(r.tracker.tree(r.snapshot))
	}
}

// queries returns what to list: the kinds that objects of the set may own, in their namespaces or,
// if these are many, in all.
func (r *reader) queries(ctx context.Context) ([]cluster.Query, error) {
	var served []cluster.ListableKind
	if slices.ContainsFunc(r.tracker.roots, func(ref object.Ref) bool { return isCustom(ref.Group) }) {
		var err error
		if served, _, err = r.cluster.ListableKinds(ctx); err != nil {
			return nil, err
		}
	}
	places := map[schema.GroupKind]map[string]bool{}
	owned := map[schema.GroupKind][]schema.GroupKind{}
	for _, ref := range r.tracker.roots {
		parent := ref.GroupKind()
		if _, known := owned[parent]; !known {
			owned[parent] = OwnedKinds(parent, served)
		}
		for _, gk := range owned[parent] {
			if places[gk] == nil {
				places[gk] = map[string]bool{}
			}
			places[gk][ref.Namespace] = true // what is cluster-scoped may own objects anywhere
		}
	}
	var queries []cluster.Query
	for gk, namespaces := range places {
		if namespaces[""] || len(namespaces) > manyNamespaces {
			namespaces = map[string]bool{"": true}
		}
		for namespace := range namespaces {
			queries = append(queries, cluster.Query{Kind: gk, Namespace: namespace, Once: r.once})
		}
	}
	slices.SortFunc(queries, func(a, b cluster.Query) int {
		return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return queries, nil
}

// start starts a query, which ends with the context.
func (r *reader) start(ctx context.Context, query cluster.Query) {
	r.listing++
	r.cluster.WatchQuery(ctx, query, r.send(ctx, query))
}

// watchRoots watches the objects of the set, one kind at a time.
func (r *reader) watchRoots(ctx context.Context) {
	byKind := map[schema.GroupKind][]object.Ref{}
	for _, ref := range r.tracker.roots {
		if !r.snapshot.Unserved.Has(ref) {
			byKind[ref.GroupKind()] = append(byKind[ref.GroupKind()], ref)
		}
	}
	for _, refs := range byKind {
		r.cluster.Watch(ctx, refs, r.send(ctx, cluster.Query{}))
	}
}

// send returns a function that sends events to the reader.
func (r *reader) send(ctx context.Context, query cluster.Query) func(cluster.ObjectEvent) {
	return func(seen cluster.ObjectEvent) {
		select {
		case r.events <- queryEvent{seen, query}:
		case <-ctx.Done():
		}
	}
}

// handle records an event. If a kind may not be listed in all namespaces, it is listed in those of
// the set.
func (r *reader) handle(ctx context.Context, e queryEvent) {
	switch {
	case e.Listed:
		r.listing--
		unknown := (*cluster.UnknownKindError)(nil)
		if e.Err == nil || ctx.Err() != nil || errors.As(e.Err, &unknown) && unknown.Cause == nil {
			return
		}
		if namespaces := r.namespaces(); apierrors.IsForbidden(e.Err) && e.query.Namespace == "" &&
			len(namespaces) > 0 {
			for _, namespace := range namespaces {
				query := e.query
				query.Namespace = namespace
				r.start(ctx, query)
			}
			return
		}
		if r.options.Unseen != nil {
			r.options.Unseen(unseen(e.query, e.Err))
		}
	case e.Err != nil: // the watch continues
	default:
		r.tracker.set(e.Ref, e.Object)
	}
}

// unseen returns the error for a query that could not be made.
func unseen(q cluster.Query, err error) error {
	where := "in all namespaces"
	if q.Namespace != "" {
		where = "in namespace " + q.Namespace
	}
	return fmt.Errorf("the tree has no objects of the kind %s %s: %w", q.Kind, where, err)
}

// namespaces returns the namespaces of the objects of the set, sorted.
func (r *reader) namespaces() []string {
	var all []string
	for _, ref := range r.tracker.roots {
		if ref.Namespace != "" {
			all = append(all, ref.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
