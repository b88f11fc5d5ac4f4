package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/ready"
)

// maxSelected is the number of objects up to which the related objects of these alone are watched,
// by a label; beyond it, all objects of a kind in the namespace are watched.
const maxSelected = 40

// relatedTracker watches the objects that belong to those of a run, for two readers: rules that see
// child objects, and the search for causes. Every watch is for both of them. The tracker belongs to
// one goroutine, which receives events and passes them to handle.
type relatedTracker struct {
	cluster  cluster.Writer
	noCauses bool // evidence stays empty
	once     bool // list, do not watch
	evidence *ready.RelatedObjects
	pods     *ready.PodSet // nil if no policy needs them
	places   map[place]*relatedPlace
	children map[int][]*siblings // by step and kind
	listing  int                 // watches that have not listed their objects yet
	warned   bool                // that pods cannot be listed
	events   chan relatedEvent
}

// place is a kind in a namespace.
type place struct {
	schema.GroupKind
	namespace string
	fields    string // selector for events; others have none
}

// relatedWatch is one watch of a place.
type relatedWatch struct {
	place    *relatedPlace
	selector labels.Selector
	keeps    bool  // its objects are kept for rules, not only their evidence for causes
	listed   bool  // its initial list is complete, or has failed
	failure  error // why it is not complete; nil if it is
	over     bool  // it is not tried again
}

// relatedEvent reports a related object, its deletion, or the end of the list of a watch.
type relatedEvent struct {
	cluster.ObjectEvent
	watch    *relatedWatch
	evidence *ready.Evidence
	runs     *ready.PodRuns // of a pod, if they are kept
}

func newRelatedTracker(c cluster.Writer, noCauses bool) *relatedTracker {
	return &relatedTracker{
		cluster: c, noCauses: noCauses, evidence: ready.NewRelatedObjects(),
		places: map[place]*relatedPlace{}, children: map[int][]*siblings{},
		events: make(chan relatedEvent),
	}
}

var (
	eventKind = schema.GroupKind{Kind: "Event"}
	podKind   = schema.GroupKind{Kind: "Pod"}
)

// start starts a watch, which ends with the context.
func (t *relatedTracker) start(ctx context.Context, w *relatedWatch) {
	w.place.watches = append(w.place.watches, w)
	t.listing++
	query := cluster.Query{
		Kind: w.place.GroupKind, Namespace: w.place.namespace, Labels: w.selector.String(),
		Fields: w.place.fields, Once: t.once, Relists: true,
	}
	t.cluster.WatchQuery(ctx, query, func(seen cluster.ObjectEvent) {
		e := relatedEvent{ObjectEvent: seen, watch: w}
		if seen.Object != nil && !t.noCauses {
			e.evidence = ready.EvidenceOf(seen.Object, ready.Of(seen.Object))
		}
		if seen.Object != nil && t.pods != nil && w.place.GroupKind == podKind {
			e.runs = ready.RunsOf(seen.Object)
		}
		if seen.Object != nil && w.keeps { // managed fields are large, and no rule reads them
			e.Object = reheaded(seen.Object, func(map[string]any) {})
		}
		select {
		case t.events <- e:
		case <-ctx.Done():
		}
	})
}

// handle records one event and returns the steps whose status may change: none before the initial
// list of the watch is complete.
func (t *relatedTracker) handle(e relatedEvent) []int {
	var steps []int
	switch {
	case e.Listed:
		if !e.watch.listed {
			t.listing--
		}
		e.watch.listed, e.watch.failure, e.watch.over = true, e.Err, e.Over
		for _, s := range e.watch.place.siblings {
			steps = append(steps, s.steps...)
		}
	case e.evidence != nil:
		t.evidence.Add(e.evidence)
	default:
		t.evidence.Delete(e.Ref)
	}
	if t.pods != nil && e.watch.place.GroupKind == podKind && !e.Listed {
		if t.pods.Delete(e.Ref); e.runs != nil {
			t.pods.Add(e.runs)
		}
	}
	if !e.Listed && e.watch.keeps {
		steps = e.watch.place.set(e.Ref, e.Object)
	}
	if !e.watch.listed {
		return nil
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// handleAll handles events until all watches have listed their objects and no event has come for
// the duration quiet, or the context ends.
func (t *relatedTracker) handleAll(ctx context.Context, quiet time.Duration) {
	for t.listing > 0 || quiet > 0 {
		var silence <-chan time.Time
		if t.listing == 0 {
			silence = time.After(quiet)
		}
		select {
		case e := <-t.events:
			t.handle(e)
		case <-silence:
			return
		case <-ctx.Done():
			return
		}
	}
}

// missingWatches collects the objects that no watch for causes or pods covers yet.
type missingWatches struct {
	tracker *relatedTracker
	labels  map[*relatedPlace][]labels.Set
	order   []*relatedPlace
}

func (t *relatedTracker) missing() *missingWatches {
	return &missingWatches{tracker: t, labels: map[*relatedPlace][]labels.Set{}}
}

// need adds the objects of a place with labels, unless a watch covers them.
func (m *missingWatches) need(at place, with labels.Set) {
	p := m.tracker.at(at)
	if p.watchOf(with, false) != nil {
		return
	}
	if m.labels[p] == nil {
		m.order = append(m.order, p)
	}
	m.labels[p] = append(m.labels[p], with)
}

// start starts the watches, one for each place.
func (m *missingWatches) start(ctx context.Context) {
	for _, p := range m.order {
		selector := selectorOf(m.labels[p])
		if slices.ContainsFunc(p.watches, func(w *relatedWatch) bool { return !w.keeps }) {
			selector = labels.Everything() // the second watch for causes covers all of the place
		}
		m.tracker.start(ctx, &relatedWatch{place: p, selector: selector})
	}
}

// watchRelated starts the missing watches of the objects that explain those of the wanted steps,
// and reports whether there are such steps.
func (r *run) watchRelated(ctx context.Context, wanted func(*track) bool) bool {
	missing, found := r.related.missing(), false
	r.withEvidence(wanted, func(i int) {
		found = true
		t := &r.tracks[i]
		ref, query := t.seen.evidence.Ref, t.seen.children
		for _, kind := range t.seen.evidence.RelatedKinds() {
			with := labels.Set(kind.Labels)
			if t.queried && query != nil && slices.Contains(query.kinds, kind.GroupKind) {
				with = labels.Merge(with, query.labels) // so that the watch for the rules suffices
			}
			missing.need(place{kind.GroupKind, cmp.Or(kind.Namespace, ref.Namespace), kind.Fields}, with)
		}
		missing.need(place{eventKind, cmp.Or(ref.Namespace, "default"), "type=Warning"}, nil)
	})
	missing.start(ctx)
	return found
}

// selectorOf returns the selector by the label that distinguishes most of the given label sets. It
// selects everything if there are too many sets, or if they have no label in common.
func selectorOf(sets []labels.Set) labels.Selector {
	selector, most := labels.Everything(), 0
	if len(sets) > maxSelected {
		return selector
	}
	for _, key := range slices.Sorted(maps.Keys(sets[0])) {
		values := map[string]bool{}
		for _, set := range sets {
			if values[set[key]] = true; !set.Has(key) {
				values = nil
				break
			}
		}
		if len(values) > most {
			most = len(values)
			one, err := labels.NewRequirement(key, selection.In, slices.Collect(maps.Keys(values)))
			if err == nil { // labels of live objects are valid
				selector = labels.NewSelector().Add(*one)
			}
		}
	}
	return selector
}
